import type { SourceType } from '../../contract/primitives.ts';

export type SourceAuth =
  | { kind: 'none' }
  | { kind: 'bearer'; token: string }
  | { kind: 'client-credentials'; tokenUrl: string; clientId: string; clientSecret: string; scope?: string };

/** One FHIR R4 server that the exchange asks. Only source, baseUrl and auth have no default. */
export interface SourceConfig {
  source: SourceType;
  /** FHIR base address, e.g. https://fhir.example.org/r4 */
  baseUrl: string;
  auth: SourceAuth;
  /** Origins besides baseUrl's own that links, files and redirects of this source may lead to. */
  allowedOrigins?: string[];
  /** Those of them that need the source's token too. Default none: it goes to baseUrl's own origin only. */
  tokenOrigins?: string[];
  /** Largest single answer, NDJSON page or attachment. Default 20 MB. */
  pageBytesMax?: number;
  /** One request from connect to the last byte; for streamed files: to the headers, then between bytes. */
  requestTimeoutMs?: number;
  /** `_count` of searches and $everything. */
  pageSize?: number;
  /** More pages than this of one answer mean that the source goes round in circles. */
  pagesMax?: number;
  /** Whether the source announces finished jobs at the address in `x-callback-url`. */
  callbacks?: boolean;
}

export interface ResolvedSourceConfig
  extends Required<Omit<SourceConfig, 'baseUrl' | 'allowedOrigins' | 'tokenOrigins'>> {
  /** Ends with a slash, so that relative references resolve below it. */
  baseUrl: URL;
  allowedOrigins: ReadonlySet<string>;
  tokenOrigins: ReadonlySet<string>;
}

/** Fills in the defaults; throws a TypeError that names the source when an address is not one. */
export function resolveSourceConfig(config: SourceConfig): ResolvedSourceConfig {
  const baseUrl = parseHttpUrl(config.baseUrl, `base address of ${config.source}`);
  baseUrl.search = '';
  baseUrl.hash = '';
  if (!baseUrl.pathname.endsWith('/')) baseUrl.pathname += '/';
  if (config.auth.kind === 'client-credentials') {
    parseHttpUrl(config.auth.tokenUrl, `token address of ${config.source}`);
  }
  const originsOf = (origins: readonly string[] = [], what: string) =>
    origins.map((origin) => parseHttpUrl(origin, `${what} of ${config.source}`).origin);
  const tokenOrigins = [baseUrl.origin, ...originsOf(config.tokenOrigins, 'token origin')];
  return {
    pageBytesMax: 20_000_000,
    requestTimeoutMs: 30_000,
    pageSize: 200,
    pagesMax: 1_000,
    callbacks: true,
    ...withoutUndefined(config),
    baseUrl,
    allowedOrigins: new Set([...tokenOrigins, ...originsOf(config.allowedOrigins, 'allowed origin')]),
    tokenOrigins: new Set(tokenOrigins),
  };
}

/** A link may be followed when its origin is configured and it smuggles in no login of its own. */
export function isAllowedUrl(config: ResolvedSourceConfig, url: URL): boolean {
  return config.allowedOrigins.has(url.origin) && url.username === '' && url.password === '';
}

function parseHttpUrl(value: string, what: string): URL {
  if (!URL.canParse(value)) throw new TypeError(`the ${what} is not a URL`);
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`the ${what} must be an http or https URL`);
  }
  return url;
}

function withoutUndefined(config: SourceConfig): SourceConfig {
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as unknown as SourceConfig;
}
