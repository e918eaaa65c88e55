import { z } from 'zod';
import type { SourceType } from '../../../contract/primitives.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { PurposeOfUse, SourceConfig } from '../connectors/source-config.ts';

const text = z.string().min(1).max(20_000);
const certificates = text.refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), {
  error: 'must be a certificate in PEM',
});
const origins = z.array(z.url({ protocol: /^https?$/ }).max(300)).max(20);

/** What of a connection is not secret. */
export const connectionSettingsSchema = z.object({
  allowedOrigins: origins.default([]),
  tokenOrigins: origins.default([]),
  ownBaseUrls: origins.default([]),
  pageSize: z.int().min(1).max(1_000).optional(),
  pageBytesMax: z.int().min(100_000).max(200_000_000).optional(),
  documentBytesMax: z.int().min(100_000).max(2_000_000_000).optional(),
  requestTimeoutMs: z.int().min(1_000).max(120_000).optional(),
  /** Whether the server has `Patient/$match`, and document search (IHE MHD), where its CapabilityStatement is wrong. */
  patientMatch: z.boolean().optional(),
  documentSearch: z.boolean().optional(),
  /** Calls that the network allows, for all workers together. */
  callsPerSecond: z.number().positive().max(10_000).default(50),
  callsPerMinute: z.number().positive().max(600_000).optional(),
  /** Ask only for what has changed, where the server is found to honour it. */
  incremental: z.boolean().default(true),
  /** Everything is asked for at least this often. */
  fullAfterDays: z.int().min(1).max(90).default(7),
  /** Only patients of one of these facilities are looked up. Default: all patients. */
  facilityIds: z.array(z.uuid()).max(500).optional(),
});
export type ConnectionSettings = z.output<typeof connectionSettingsSchema>;

const oauthClient = { clientId: text, scope: text.optional() };
const httpUrl = z.url({ protocol: /^https?$/ }).max(2_000);

/** What of a connection is encrypted. */
export const connectionCredentialsSchema = z.object({
  auth: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('none') }),
    z.object({ kind: z.literal('bearer'), token: text }),
    z.object({
      kind: z.literal('client-credentials'),
      ...oauthClient,
      tokenUrl: httpUrl,
      clientSecret: text,
      secretIn: z.enum(['header', 'form']).optional(),
    }),
    z.object({
      kind: z.literal('smart-backend'),
      ...oauthClient,
      tokenUrl: httpUrl.optional(),
      algorithm: z.enum(['ES384', 'RS384']).optional(),
    }),
    z.object({
      kind: z.literal('udap'),
      clientId: text.optional(),
      cert: certificates,
      key: text,
      anchors: certificates,
      scope: text,
      clientName: text.max(200),
      contact: z.string().regex(/^mailto:\S+@\S+$/, { error: 'must have the form mailto:name@example.org' }),
      organizationId: z.string().regex(/^[a-z][a-z0-9+.-]*:\S+$/i, { error: 'must be a URI' }),
      organizationName: text.max(200).optional(),
      community: text.max(500).optional(),
    }),
  ]),
  tls: z
    .object({
      ca: text.optional(),
      cert: text.optional(),
      key: text.optional(),
      pins: z
        .array(z.string().regex(/^sha256\/[A-Za-z0-9+/]{43}=$/))
        .max(20)
        .optional(),
    })
    .default({}),
  callbackSecret: text.optional(),
});
export type ConnectionCredentials = z.output<typeof connectionCredentialsSchema>;

export function sealCredentials(keyRing: KeyRing, id: string, credentials: ConnectionCredentials): Buffer {
  return keyRing.encrypt(Buffer.from(JSON.stringify(credentials)), purposeOf(id));
}

/** @throws DecryptionError when the key is no longer in the key ring */
export function openCredentials(keyRing: KeyRing, id: string, sealed: Buffer): ConnectionCredentials {
  const json: unknown = JSON.parse(keyRing.decrypt(sealed, purposeOf(id)).toString('utf8'));
  return connectionCredentialsSchema.parse(json);
}

const purposeOf = (id: string): string => `source-connection/${id}`;

/** The configuration with which a connector speaks to the server of a connection. */
export function configOf(
  connection: {
    id: string;
    source: SourceType;
    baseUrl: string;
    settings: ConnectionSettings;
    revision?: number;
  },
  { auth, tls, callbackSecret }: ConnectionCredentials,
  purposeOfUse: PurposeOfUse = 'treatment',
): SourceConfig {
  const { facilityIds: _, ...settings } = connection.settings;
  return {
    source: connection.source,
    baseUrl: connection.baseUrl,
    connectionKey: connection.id,
    revision: connection.revision,
    auth,
    tls,
    purposeOfUse,
    ...settings,
    callbacks: callbackSecret !== undefined,
  };
}
