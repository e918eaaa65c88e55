import { createHash } from 'node:crypto';
import type { SourceType } from '../../../contract/primitives.ts';
import { resourceTypesOf } from './collect/resource-types.ts';
import {
  type ConnectionSettings,
  connectionSettingsSchema,
  type SourceAuth,
  type SourceTls,
} from './source-settings.ts';

export type PurposeOfUse = 'treatment' | 'ias';

/** So a source that loops with small or empty pages ends, too. */
export const PAGE_COUNTED_BYTES = 100_000;

/**
 * Configuration of one source: a FHIR R4 server, or with `ihe` a gateway that
 * speaks XCPD and XCA. Only source, baseUrl and auth
 * have no default.
 */
export interface SourceConfig
  extends Partial<Omit<ConnectionSettings, 'facilityIds' | 'network'>> {
  source: SourceType;
  /**
   * FHIR base address, e.g. https://fhir.example.org/r4; of a gateway: its
   * address for patient discovery.
   */
  baseUrl: string;
  auth: SourceAuth;
  /**
   * Identifies the connection, so that workers can share its tokens. Default:
   * the source.
   */
  connectionKey?: string;
  /**
   * The connection to the network that this server is a member of. It is
   * registered with by UDAP when it is first asked.
   */
  networkKey?: string;
  tls?: SourceTls;
  /**
   * Why data is requested; UDAP sends it with each token request. Default:
   * treatment.
   */
  purposeOfUse?: PurposeOfUse;
  /**
   * Bytes of all pages of an attempt together, each counted as at least
   * `PAGE_COUNTED_BYTES`. A source that returns more is assumed to loop.
   */
  answerBytesMax?: number;
  /**
   * Grows with every change of the connection; without one, only the settings
   * themselves count.
   */
  revision?: number;
  /**
   * Whether the source reports finished jobs to the URL in our `x-callback-url`
   * header.
   */
  callbacks?: boolean;
}

export interface ResolvedSourceConfig
  extends Required<
      Omit<
        SourceConfig,
        | 'baseUrl'
        | 'allowedOrigins'
        | 'ownBaseUrls'
        | 'tokenOrigins'
        | 'patientMatch'
        | 'documentSearch'
        | 'ihe'
        | 'networkKey'
      >
    >,
    Pick<
      SourceConfig,
      'patientMatch' | 'documentSearch' | 'ihe' | 'networkKey'
    > {
  /** Ends with a slash, so that relative references resolve below it. */
  baseUrl: URL;
  allowedOrigins: ReadonlySet<string>;
  /** Without a slash at the end. */
  ownBaseUrls: readonly string[];
  tokenOrigins: ReadonlySet<string>;
}

/**
 * Fills in the defaults; without rates there is no limit of calls. @throws
 * TypeError naming the source when a configured URL is invalid
 */
export function resolveSourceConfig(
  config: SourceConfig,
): ResolvedSourceConfig {
  const baseUrl = parseHttpUrl(
    config.baseUrl,
    `base address of ${config.source}`,
  );
  baseUrl.search = '';
  baseUrl.hash = '';
  if (!baseUrl.pathname.endsWith('/')) baseUrl.pathname += '/';
  if ('tokenUrl' in config.auth && config.auth.tokenUrl !== undefined) {
    parseHttpUrl(config.auth.tokenUrl, `token address of ${config.source}`);
  }
  checkProtocol(config);
  const originsOf = (origins: readonly string[] = [], what: string) =>
    origins.map(
      (origin) => parseHttpUrl(origin, `${what} of ${config.source}`).origin,
    );
  const tokenOrigins = [
    baseUrl.origin,
    ...originsOf(config.tokenOrigins, 'token origin'),
  ];
  return {
    ...connectionSettingsSchema.parse({}),
    answerBytesMax: 20_000_000_000,
    callsPerSecond: Number.POSITIVE_INFINITY,
    callsPerMinute: Number.POSITIVE_INFINITY,
    revision: 0,
    callbacks: true,
    connectionKey: config.source,
    tls: {},
    purposeOfUse: 'treatment',
    ...withoutUndefined(config),
    baseUrl,
    allowedOrigins: new Set([
      ...tokenOrigins,
      ...originsOf(config.allowedOrigins, 'allowed origin'),
    ]),
    ownBaseUrls: (config.ownBaseUrls ?? []).map((own) =>
      parseHttpUrl(own, `own base address of ${config.source}`).href.replace(
        /\/+$/,
        '',
      ),
    ),
    tokenOrigins: new Set(tokenOrigins),
  };
}

/** @throws TypeError when login and protocol do not fit */
function checkProtocol({
  source,
  auth,
  tls,
  ihe,
  networkKey,
}: SourceConfig): void {
  // Another login would show one server what opens the others.
  if (networkKey !== undefined && auth.kind !== 'udap' && auth.kind !== 'none')
    throw new TypeError(
      `the login to a network of FHIR servers must be udap or none`,
    );
  if (auth.kind === 'saml') {
    if (ihe === undefined)
      throw new TypeError(
        `the login saml of ${source} is for a connection that speaks IHE`,
      );
    if (tls?.key === undefined)
      throw new TypeError(
        `the login saml of ${source} needs a client certificate and its key, which also signs`,
      );
  } else if (ihe !== undefined && auth.kind !== 'none')
    throw new TypeError(
      `the login of ${source} must be saml or none, because it speaks IHE`,
    );
}

/**
 * Identifies what decides which data a connection delivers: address, login
 * without its secrets, settings and our types.
 */
export function connectionFingerprint(config: ResolvedSourceConfig): string {
  const { source, baseUrl, auth, revision, purposeOfUse } = config;
  const { kind } = auth;
  const login = [
    kind,
    'clientId' in auth ? auth.clientId : undefined,
    'scope' in auth ? auth.scope : undefined,
    'tokenUrl' in auth ? auth.tokenUrl : undefined,
  ];
  const origins = [
    [...config.allowedOrigins],
    [...config.tokenOrigins],
    config.ownBaseUrls,
  ];
  // The last one is of earlier builds: with another one, everything would be
  // asked for again.
  const limits = [config.pageBytesMax, config.documentBytesMax, 1_000];
  const said = [config.patientMatch, config.documentSearch];
  const types = resourceTypesOf(source);
  const deciding = [
    source,
    baseUrl.href,
    login,
    revision,
    purposeOfUse,
    origins,
    limits,
    said,
    types,
  ];
  return createHash('sha256').update(JSON.stringify(deciding)).digest('hex');
}

/**
 * The address to request: one below a base address by which the server calls
 * itself becomes one below the configured base.
 */
export function addressOf(
  { baseUrl, ownBaseUrls }: ResolvedSourceConfig,
  url: URL,
): URL {
  for (const own of ownBaseUrls) {
    const rest = url.href.startsWith(own)
      ? url.href.slice(own.length)
      : undefined;
    if (rest !== undefined && /^([/?]|$)/.test(rest))
      return new URL(rest.replace(/^\//, ''), baseUrl);
  }
  return url;
}

/**
 * Whether a link may be followed: its origin is configured and it contains no
 * user name or password.
 */
export function isAllowedUrl(config: ResolvedSourceConfig, url: URL): boolean {
  return (
    config.allowedOrigins.has(url.origin) &&
    url.username === '' &&
    url.password === ''
  );
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
  const given = Object.entries(config).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(given) as unknown as SourceConfig;
}
