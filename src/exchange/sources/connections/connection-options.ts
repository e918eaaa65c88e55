import type { z } from 'zod';
import {
  type IheSettings,
  iheSettingsSchema,
} from '../connectors/ihe/ihe-settings.ts';
import {
  fhirNetworkShape,
  iheNetworkShape,
  type NetworkSettings,
} from '../connectors/ihe/network-settings.ts';
import {
  type ConnectionCredentials,
  type ConnectionSettings,
  connectionCredentialsSchema,
  connectionSettingsSchema,
  optionName,
} from '../connectors/source-settings.ts';

export const CONNECTION_AUTH = [
  'none',
  'bearer',
  'client-secret-basic',
  'client-secret-post',
  'smart-backend',
  'udap',
  'saml',
] as const;

/**
 * `ihe-network`, `fhir-network`: the gateways of a network's directory, which
 * speak IHE or are FHIR servers.
 */
export const CONNECTION_PROTOCOLS = [
  'fhir',
  'ihe',
  'ihe-network',
  'fhir-network',
] as const;
type ConnectionAuth = (typeof CONNECTION_AUTH)[number];

/**
 * A login, as `connections create`, `connections rotate` and the environment
 * name it. Those marked as files are paths.
 */
export interface CredentialOptions {
  auth?: ConnectionAuth;
  clientId?: string;
  scope?: string;
  tokenUrl?: string;
  algorithm?: string;
  /** File with the bearer token or client secret. */
  secretFile?: string;
  /** File. */
  callbackSecretFile?: string;
  /** Files. */
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  tlsPins?: string | readonly string[];
  /** Files. */
  udapCert?: string;
  udapKey?: string;
  udapAnchors?: string;
  clientName?: string;
  contact?: string;
  organizationId?: string;
  organizationName?: string;
  community?: string;
  purpose?: string;
  homeCommunityId?: string;
  samlSubject?: string;
  samlEmail?: string;
  samlRole?: string;
  samlPurpose?: string;
  npi?: string;
}

/**
 * The settings as a command line has them: text, where the word `default`
 * stands for the default.
 */
export type SettingOptions = {
  [K in
    | Exclude<keyof ConnectionSettings, 'ihe' | 'network'>
    | keyof IheSettings
    | Exclude<keyof NetworkSettings, 'speaks'>]?: string;
};

/**
 * Settings that are not valid together or by themselves. The message states
 * what to do; it never contains a value.
 */
export class InvalidConnection extends Error {
  override readonly name = 'InvalidConnection';
}

/**
 * How the caller's user names an option, and where the content of its file
 * comes from.
 */
export interface OptionSource {
  nameOf(option: keyof CredentialOptions): string;
  /** Throws InvalidConnection or an error of the caller. */
  read(option: keyof CredentialOptions, path: string): string | Promise<string>;
}

/**
 * The settings that the options name, over the known ones; those that neither
 * has get their defaults. Settings of a protocol are for its connections only.
 */
export function settingsOf(
  options: SettingOptions & {
    protocol?: (typeof CONNECTION_PROTOCOLS)[number];
  },
  known: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  const { ihe: _, network: __, ...shape } = connectionSettingsSchema.shape;
  const protocol = options.protocol ?? protocolOf(known);
  const allowed = { ...shape, ...SHAPES[protocol] };
  const [foreign] = Object.values(SHAPES)
    .flatMap((each) => Object.keys(each))
    .filter(
      (name) =>
        options[name as keyof SettingOptions] !== undefined &&
        !(name in allowed),
    );
  if (foreign !== undefined)
    throw new InvalidConnection(
      `${optionName(foreign)} is for connections that are created with --protocol ${protocolsWith(foreign)}`,
    );
  return checked(connectionSettingsSchema, {
    ...overlaid(shape, options, known),
    ...(protocol === 'ihe'
      ? { ihe: overlaid(SHAPES.ihe, options, known.ihe) }
      : {}),
    ...(protocol === 'ihe-network'
      ? { network: overlaid(SHAPES['ihe-network'], options, known.network) }
      : {}),
    ...(protocol === 'fhir-network'
      ? {
          network: {
            ...overlaid(SHAPES['fhir-network'], options, known.network),
            speaks: 'fhir',
          },
        }
      : {}),
  });
}

/** The settings that only connections of one protocol have. */
const SHAPES = {
  fhir: {},
  ihe: iheSettingsSchema.shape,
  'ihe-network': iheNetworkShape,
  'fhir-network': fhirNetworkShape,
} as const satisfies Record<
  (typeof CONNECTION_PROTOCOLS)[number],
  Readonly<Record<string, z.ZodType>>
>;

const protocolsWith = (name: string): string =>
  CONNECTION_PROTOCOLS.filter((protocol) => name in SHAPES[protocol]).join(
    ' or ',
  );

function protocolOf({
  ihe,
  network,
}: Partial<ConnectionSettings>): (typeof CONNECTION_PROTOCOLS)[number] {
  if (network !== undefined)
    return network.speaks === 'fhir' ? 'fhir-network' : 'ihe-network';
  return ihe === undefined ? 'fhir' : 'ihe';
}

function overlaid(
  shape: Readonly<Record<string, z.ZodType>>,
  options: SettingOptions,
  known: Partial<Record<string, unknown>> = {},
): Partial<Record<string, unknown>> {
  const merged: Partial<Record<string, unknown>> = { ...known };
  for (const [name, field] of Object.entries(shape)) {
    const text = options[name as keyof SettingOptions]?.trim();
    if (text === undefined) continue;
    merged[name] = text === 'default' ? undefined : typed(text, field);
  }
  return merged;
}

/**
 * A value as the command line writes it. What does not fit is left to the
 * schema, which refuses it.
 */
function typed(text: string, field: z.ZodType): unknown {
  if (field === iheSettingsSchema.shape.otherCommunities)
    return words(text).map(communityOf);
  const isList = field.safeParse([]).success;
  if (isList) return words(text);
  if (text === 'true' || text === 'false') return text === 'true';
  // An OID of two parts looks like a number.
  const isNumber = field.safeParse(Number(text)).success;
  return isNumber || /^\d+$/.test(text) ? Number(text) : text;
}

/** `<OID>|<address of queries>|<address of retrievals>`. */
function communityOf(text: string): unknown {
  const [homeCommunity, queryUrl, retrieveUrl] = text.split('|');
  return { homeCommunity, queryUrl, retrieveUrl };
}

/**
 * The credentials that the options name; secrets are read from their files.
 * Throws InvalidConnection.
 */
export async function credentialsOf(
  options: CredentialOptions,
  source: OptionSource,
): Promise<ConnectionCredentials> {
  const file = async (
    option: keyof CredentialOptions,
    path: string | undefined,
  ) => (path === undefined ? undefined : source.read(option, path));
  const ca = await file('tlsCa', options.tlsCa);
  const cert = await file('tlsCert', options.tlsCert);
  const key = await file('tlsKey', options.tlsKey);
  if ((cert === undefined) !== (key === undefined))
    throw new InvalidConnection(
      `${source.nameOf('tlsCert')} and ${source.nameOf('tlsKey')} belong together: give both or neither`,
    );
  const { tlsPins } = options;
  return checked(connectionCredentialsSchema, {
    auth: await authOf(options, source),
    tls: {
      ca,
      cert,
      key,
      pins: typeof tlsPins === 'string' ? words(tlsPins) : tlsPins,
    },
    callbackSecret: await file(
      'callbackSecretFile',
      options.callbackSecretFile,
    ),
  });
}

async function authOf(
  options: CredentialOptions,
  source: OptionSource,
): Promise<unknown> {
  const { clientId, scope, tokenUrl, algorithm } = options;
  const auth: ConnectionAuth = options.auth ?? 'none';
  const needed = (
    option: Exclude<keyof CredentialOptions, 'tlsPins'>,
  ): string => {
    const value = options[option];
    if (value !== undefined) return value;
    throw new InvalidConnection(
      `${source.nameOf('auth')} ${auth} needs ${source.nameOf(option)}`,
    );
  };
  const content = async (option: Exclude<keyof CredentialOptions, 'tlsPins'>) =>
    source.read(option, needed(option));
  switch (auth) {
    case 'none':
      return { kind: 'none' };
    case 'bearer':
      return { kind: 'bearer', token: await content('secretFile') };
    case 'smart-backend':
      return {
        kind: 'smart-backend',
        clientId: needed('clientId'),
        scope,
        tokenUrl,
        algorithm,
      };
    case 'udap':
      return {
        kind: 'udap',
        clientId,
        cert: await content('udapCert'),
        key: await content('udapKey'),
        anchors: await content('udapAnchors'),
        scope: needed('scope'),
        clientName: needed('clientName'),
        contact: needed('contact'),
        organizationId: needed('organizationId'),
        organizationName: options.organizationName,
        community: options.community,
        purpose:
          options.homeCommunityId === undefined
            ? options.purpose
            : needed('purpose'),
        homeCommunityId: options.homeCommunityId,
      };
    case 'saml':
      return {
        kind: 'saml',
        organizationName: needed('organizationName'),
        organizationId: needed('organizationId'),
        samlSubject: needed('samlSubject'),
        samlEmail: options.samlEmail,
        samlRole: needed('samlRole'),
        samlPurpose: needed('samlPurpose'),
        npi: options.npi,
      };
    case 'client-secret-basic':
    case 'client-secret-post':
      return {
        kind: 'client-credentials',
        clientId: needed('clientId'),
        tokenUrl: needed('tokenUrl'),
        clientSecret: await content('secretFile'),
        scope,
        secretIn: auth === 'client-secret-post' ? 'form' : 'header',
      };
  }
}

/** Never repeats a value, because it may be a secret. */
export function checked<S extends z.ZodType>(
  schema: S,
  value: unknown,
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw new InvalidConnection(
    `The connection is not valid:\n  ${problems.join('\n  ')}`,
  );
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
