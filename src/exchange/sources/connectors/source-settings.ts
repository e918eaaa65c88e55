import { z } from 'zod';
import type { SourceType } from '../../../contract/primitives.ts';
import { iheSettingsSchema, samlAuthSchema } from './ihe/ihe-settings.ts';
import { networkSettingsSchema } from './ihe/network-settings.ts';

/**
 * The settings of a connection to a source: one table of names and units. The
 * environment (`LAB_SETTINGS`), the options of `npm run admin -- connections`
 * (`pageSize` is `--page-size`), the database and the connectors all use it.
 */
const text = z.string().min(1).max(20_000);
const httpUrl = z.url({ protocol: /^https?$/ }).max(2_000);
const certificates = text.refine(
  (pem) => pem.includes('-----BEGIN CERTIFICATE-----'),
  {
    error: 'must be a certificate in PEM',
  },
);
const origins = z.array(z.url({ protocol: /^https?$/ }).max(300)).max(20);

/** What of a connection is not secret. */
export const connectionSettingsSchema = z.object({
  /**
   * Origins, besides that of the base URL, to which links, files and redirects
   * of this source may lead.
   */
  allowedOrigins: origins.default([]),
  /** Further origins to which the source's token is sent. */
  tokenOrigins: origins.default([]),
  /**
   * Base URLs by which the server calls itself in links and references; they
   * are replaced by the base URL.
   */
  ownBaseUrls: origins.default([]),
  /** `_count` of searches and $everything. */
  pageSize: z.int().min(1).max(10_000).default(200),
  /**
   * Largest single response or NDJSON line. Larger pages are requested in
   * smaller ones.
   */
  pageBytesMax: z.int().min(100_000).max(200_000_000).default(20_000_000),
  /** Largest attachment. Larger ones are skipped. */
  documentBytesMax: z
    .int()
    .min(100_000)
    .max(2_000_000_000)
    .default(200_000_000),
  /**
   * For one request from connect to last byte; for streamed files: to the
   * headers, then between chunks.
   */
  requestTimeoutSeconds: z.int().min(1).max(600).default(30),
  /**
   * Whether the server has `Patient/$match`. Default: what its
   * CapabilityStatement says.
   */
  patientMatch: z.boolean().optional(),
  /**
   * Whether documents are searched for by patient and status (IHE MHD).
   * Default: what its CapabilityStatement says.
   */
  documentSearch: z.boolean().optional(),
  /** Calls that the source allows, for all workers together. */
  callsPerSecond: z.number().positive().max(10_000).default(50),
  callsPerMinute: z.number().positive().max(600_000).optional(),
  /** Ask only for what has changed, where the server is found to honour it. */
  incremental: z.boolean().default(true),
  /**
   * Everything is requested at least this often, because a response with
   * changes does not show what was deleted.
   */
  fullAfterDays: z.int().min(1).max(90).default(7),
  /**
   * Only patients of one of these facilities are looked up. Default: all
   * patients. Only for connections of an account.
   */
  facilityIds: z.array(z.uuid()).max(500).optional(),
  /** Set when the connection speaks IHE instead of FHIR. */
  ihe: iheSettingsSchema.optional(),
  /** Set when the connection leads to the gateways of a network. */
  network: networkSettingsSchema.optional(),
});
export type ConnectionSettings = z.output<typeof connectionSettingsSchema>;

const oauthClient = { clientId: text, scope: text.optional() };

const clientSecretAuth = z.object({
  kind: z.literal('client-credentials'),
  ...oauthClient,
  tokenUrl: httpUrl,
  clientSecret: text,
  /**
   * Where the token request carries the secret. Default: in the Authorization
   * header (HTTP Basic).
   */
  secretIn: z.enum(['header', 'form']).optional(),
});

/** SMART Backend Services: a client assertion that our key signs. */
const smartBackendAuth = z.object({
  kind: z.literal('smart-backend'),
  ...oauthClient,
  /** Default: what the server's `.well-known/smart-configuration` names. */
  tokenUrl: httpUrl.optional(),
  /** Default: the first of ES384 and RS384 that the server lists. */
  algorithm: z.enum(['ES384', 'RS384']).optional(),
});

/**
 * UDAP (HL7 SSRAA 2.0): a client assertion signed by a certificate of a trust
 * community.
 */
const udapAuth = z.object({
  kind: z.literal('udap'),
  /** Given by the dynamic registration. */
  clientId: text.optional(),
  /** Our certificate with its chain, and its key (PEM). */
  cert: certificates,
  key: text,
  /**
   * Certificates (PEM) from which servers of the community must have theirs.
   */
  anchors: certificates,
  scope: text,
  /** Name and contact for the registration. */
  clientName: text.max(200),
  contact: z.string().regex(/^mailto:\S+@\S+$/, {
    error: 'must have the form mailto:name@example.org',
  }),
  /** Who we are to the source: a URI, and a name for people. */
  organizationId: z
    .string()
    .regex(/^[a-z][a-z0-9+.-]*:\S+$/i, { error: 'must be a URI' }),
  organizationName: text.max(200).optional(),
  /** URI of the community, for servers that are in several. */
  community: text.max(500).optional(),
  /**
   * The one purpose that we are registered for, as the network names it: TEFCA
   * has `urn:oid:2.16.840.1.113883.3.7204.1.5.2.1#T-TRTMNT`. Without it, each
   * query says HL7's code for its own purpose.
   */
  purpose: z
    .string()
    .max(200)
    .regex(/^urn:oid:[0-9.]+#\S+$/, {
      error: 'must have the form urn:oid:<code system>#<code>',
    })
    .optional(),
  /**
   * Our home community, an OID. With it, we register with the basic app
   * certification that TEFCA asks for.
   */
  homeCommunityId: z
    .string()
    .max(200)
    .regex(/^(urn:oid:)?[0-9]+(\.[0-9]+)+$/, { error: 'must be an OID' })
    .optional(),
});

/** What of a connection is encrypted. */
export const connectionCredentialsSchema = z.object({
  auth: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('none') }),
    z.object({ kind: z.literal('bearer'), token: text }),
    clientSecretAuth,
    smartBackendAuth,
    udapAuth,
    samlAuthSchema,
  ]),
  tls: z
    .object({
      /**
       * Certificates (PEM) of the authorities to trust instead of the public
       * ones.
       */
      ca: text.optional(),
      /** Our client certificate with its chain, and its key (PEM). */
      cert: text.optional(),
      key: text.optional(),
      /** Pinned public keys; the server's certificate must have one of them. */
      pins: z
        .array(
          z.string().regex(/^sha256\/[A-Za-z0-9+/]{43}=$/, {
            error: 'each must have the form sha256/<base64>',
          }),
        )
        .max(20)
        .optional(),
    })
    .default({}),
  /**
   * Key with which the source signs its callbacks; without it, the source is
   * only polled.
   */
  callbackSecret: text.optional(),
});
export type ConnectionCredentials = z.output<
  typeof connectionCredentialsSchema
>;

export type SourceAuth = ConnectionCredentials['auth'];
export type SourceTls = ConnectionCredentials['tls'];
export type ClientSecretAuth = z.output<typeof clientSecretAuth>;
export type SmartBackendAuth = z.output<typeof smartBackendAuth>;
export type UdapAuth = z.output<typeof udapAuth>;
/** OAuth 2 client credentials, with a secret or with a key of ours. */
export type GrantAuth = ClientSecretAuth | SmartBackendAuth | UdapAuth;

/**
 * An account's connection has a key of its own; that of the default connection
 * is its source.
 */
export interface ConfiguredSource {
  source: SourceType;
  connectionKey: string;
}

/**
 * Where an operator changes a setting: an option for an account's connection,
 * or a variable of the environment.
 */
export const settingName = (
  config: ConfiguredSource,
  setting: keyof ConnectionSettings,
): string =>
  isConnection(config)
    ? optionName(setting)
    : `${setting} of ${config.source.toUpperCase()}_SETTINGS`;

/**
 * The command that takes the options of an account's connection; '' for
 * variables of the environment.
 */
export const settingCommand = (config: ConfiguredSource): string =>
  isConnection(config)
    ? ` (npm run admin -- connections set ${config.connectionKey})`
    : '';

/** The option of `npm run admin` for a setting: `pageSize` is `--page-size`. */
export const optionName = (setting: string): string =>
  `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const isConnection = ({ source, connectionKey }: ConfiguredSource): boolean =>
  connectionKey !== source;
