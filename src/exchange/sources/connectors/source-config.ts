import { createHash } from 'node:crypto';
import type { SourceType } from '../../../contract/primitives.ts';
import { resourceTypesOf } from './collect/resource-types.ts';
import type { AssertionAlgorithm } from './http/auth/client-assertion.ts';

export type PurposeOfUse = 'treatment' | 'ias';

export type SourceAuth = { kind: 'none' } | { kind: 'bearer'; token: string } | GrantAuth;

/** OAuth 2 client credentials, with a secret or with a key of ours. */
export type GrantAuth = ClientSecretAuth | SmartBackendAuth | UdapAuth;

export interface ClientSecretAuth {
  kind: 'client-credentials';
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** Where the token request carries the secret. Default: in the Authorization header (HTTP Basic). */
  secretIn?: 'header' | 'form';
}

/** SMART Backend Services: a client assertion that our key signs. */
export interface SmartBackendAuth {
  kind: 'smart-backend';
  clientId: string;
  scope?: string;
  /** Default: what the server's `.well-known/smart-configuration` names. */
  tokenUrl?: string;
  /** Default: the first of ES384 and RS384 that the server lists. */
  algorithm?: AssertionAlgorithm;
}

/** UDAP (HL7 SSRAA 2.0): a client assertion signed by a certificate of a trust community. */
export interface UdapAuth {
  kind: 'udap';
  /** Given by the dynamic registration. */
  clientId?: string;
  /** Our certificate with its chain, and its key (PEM). */
  cert: string;
  key: string;
  /** Certificates (PEM) from which servers of the community must have theirs. */
  anchors: string;
  scope: string;
  /** Name and contact (`mailto:…`) for the registration. */
  clientName: string;
  contact: string;
  /** Who we are to the source: a URI, and a name for people. */
  organizationId: string;
  organizationName?: string;
  /** URI of the community, for servers that are in several. */
  community?: string;
}

export interface SourceTls {
  /** Certificates (PEM) of the authorities to trust instead of the public ones. */
  ca?: string;
  /** Our client certificate with its chain, and its key (PEM). */
  cert?: string;
  key?: string;
  /** Pinned public keys; the server's certificate must have one of them: `sha256/<base64>`. */
  pins?: readonly string[];
}

/** Configuration of one source, a FHIR R4 server. Only source, baseUrl and auth have no default. */
export interface SourceConfig {
  source: SourceType;
  /** FHIR base address, e.g. https://fhir.example.org/r4 */
  baseUrl: string;
  auth: SourceAuth;
  /** Identifies the connection, so that workers can share its tokens. Default: the source. */
  connectionKey?: string;
  tls?: SourceTls;
  /** Why data is requested; UDAP sends it with each token request. Default: treatment. */
  purposeOfUse?: PurposeOfUse;
  /** Origins, besides that of baseUrl, to which links, files and redirects of this source may lead. */
  allowedOrigins?: string[];
  /** Base addresses by which the server calls itself in links and references; they are replaced by baseUrl. */
  ownBaseUrls?: string[];
  /** Further origins to which the source's token is sent. Default: none, so only the origin of baseUrl receives it. */
  tokenOrigins?: string[];
  /** Largest single response or NDJSON line, in bytes. Default 20 MB. Larger pages are asked for in smaller ones. */
  pageBytesMax?: number;
  /** Largest attachment, in bytes. Default 200 MB. */
  documentBytesMax?: number;
  /** Time for one request from connect to last byte; for streamed files: to the headers, then between chunks. */
  requestTimeoutMs?: number;
  /** `_count` of searches and $everything. */
  pageSize?: number;
  /** Pages per attempt. A source that returns more is assumed to loop. */
  pagesMax?: number;
  /** Calls that the source allows, for all workers together. Default: no limit. */
  callsPerSecond?: number;
  callsPerMinute?: number;
  /** Whether the server has `Patient/$match`. Default: what its CapabilityStatement says. */
  patientMatch?: boolean;
  /** Whether documents are searched for by patient and status (IHE MHD). Default: what its CapabilityStatement says. */
  documentSearch?: boolean;
  /** Ask only for what has changed, where the server is found to honour it. Default: true. */
  incremental?: boolean;
  /** Everything is asked for at least this often, because an answer with changes does not show what was deleted. */
  fullAfterDays?: number;
  /** Grows with every change of the connection; without one, only the settings themselves count. */
  revision?: number;
  /** Whether the source reports finished jobs to the URL in our `x-callback-url` header. */
  callbacks?: boolean;
}

export interface ResolvedSourceConfig
  extends Required<
      Omit<
        SourceConfig,
        'baseUrl' | 'allowedOrigins' | 'ownBaseUrls' | 'tokenOrigins' | 'patientMatch' | 'documentSearch'
      >
    >,
    Pick<SourceConfig, 'patientMatch' | 'documentSearch'> {
  /** Ends with a slash, so that relative references resolve below it. */
  baseUrl: URL;
  allowedOrigins: ReadonlySet<string>;
  /** Without a slash at the end. */
  ownBaseUrls: readonly string[];
  tokenOrigins: ReadonlySet<string>;
}

/** Fills in the defaults. @throws TypeError naming the source when a configured URL is invalid */
export function resolveSourceConfig(config: SourceConfig): ResolvedSourceConfig {
  const baseUrl = parseHttpUrl(config.baseUrl, `base address of ${config.source}`);
  baseUrl.search = '';
  baseUrl.hash = '';
  if (!baseUrl.pathname.endsWith('/')) baseUrl.pathname += '/';
  if ('tokenUrl' in config.auth && config.auth.tokenUrl !== undefined) {
    parseHttpUrl(config.auth.tokenUrl, `token address of ${config.source}`);
  }
  const originsOf = (origins: readonly string[] = [], what: string) =>
    origins.map((origin) => parseHttpUrl(origin, `${what} of ${config.source}`).origin);
  const tokenOrigins = [baseUrl.origin, ...originsOf(config.tokenOrigins, 'token origin')];
  return {
    pageBytesMax: 20_000_000,
    documentBytesMax: 200_000_000,
    requestTimeoutMs: 30_000,
    pageSize: 200,
    pagesMax: 1_000,
    callsPerSecond: Number.POSITIVE_INFINITY,
    callsPerMinute: Number.POSITIVE_INFINITY,
    incremental: true,
    fullAfterDays: 7,
    revision: 0,
    callbacks: true,
    connectionKey: config.source,
    tls: {},
    purposeOfUse: 'treatment',
    ...withoutUndefined(config),
    baseUrl,
    allowedOrigins: new Set([...tokenOrigins, ...originsOf(config.allowedOrigins, 'allowed origin')]),
    ownBaseUrls: (config.ownBaseUrls ?? []).map((own) =>
      parseHttpUrl(own, `own base address of ${config.source}`).href.replace(/\/+$/, ''),
    ),
    tokenOrigins: new Set(tokenOrigins),
  };
}

/** Identifies what decides which data a connection delivers: address, login without its secrets, settings and our types. */
export function fingerprintOf(config: ResolvedSourceConfig): string {
  const { source, baseUrl, auth, revision, purposeOfUse } = config;
  const { kind } = auth;
  const login = [
    kind,
    'clientId' in auth ? auth.clientId : undefined,
    'scope' in auth ? auth.scope : undefined,
    'tokenUrl' in auth ? auth.tokenUrl : undefined,
  ];
  const origins = [[...config.allowedOrigins], [...config.tokenOrigins], config.ownBaseUrls];
  const limits = [config.pageBytesMax, config.documentBytesMax, config.pagesMax];
  const said = [config.patientMatch, config.documentSearch];
  const types = resourceTypesOf(source);
  const deciding = [source, baseUrl.href, login, revision, purposeOfUse, origins, limits, said, types];
  return createHash('sha256').update(JSON.stringify(deciding)).digest('hex');
}

/** The address to request: one below a base address by which the server calls itself becomes one below the configured base. */
export function addressOf({ baseUrl, ownBaseUrls }: ResolvedSourceConfig, url: URL): URL {
  for (const own of ownBaseUrls) {
    const rest = url.href.startsWith(own) ? url.href.slice(own.length) : undefined;
    if (rest !== undefined && /^([/?]|$)/.test(rest)) return new URL(rest.replace(/^\//, ''), baseUrl);
  }
  return url;
}

/** Whether a link may be followed: its origin is configured and it contains no user name or password. */
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
