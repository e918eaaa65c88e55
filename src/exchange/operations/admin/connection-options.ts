import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import {
  type ConnectionCredentials,
  type ConnectionSettings,
  connectionCredentialsSchema,
  connectionSettingsSchema,
} from '../../sources/connections/settings.ts';
import { AdminError } from './command.ts';

export const CONNECTION_AUTH = [
  'none',
  'bearer',
  'client-secret-basic',
  'client-secret-post',
  'smart-backend',
  'udap',
] as const;
type ConnectionAuth = (typeof CONNECTION_AUTH)[number];

/** Options of `connections create` and `connections rotate`, as parsed by commander. */
export interface CredentialOptions {
  auth?: ConnectionAuth;
  clientId?: string;
  scope?: string;
  tokenUrl?: string;
  algorithm?: string;
  /** Files, or `-` for stdin. */
  secretFile?: string;
  callbackSecretFile?: string;
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  tlsPins?: string;
  udapCert?: string;
  udapKey?: string;
  udapAnchors?: string;
  clientName?: string;
  contact?: string;
  organizationId?: string;
  organizationName?: string;
  community?: string;
}

/** Options of `connections create` and `connections set`; the word `default` stands for the default. */
export interface SettingOptions {
  allowedOrigins?: string;
  tokenOrigins?: string;
  ownBaseUrls?: string;
  pageSize?: string;
  maxMegabytes?: string;
  maxDocumentMegabytes?: string;
  timeoutSeconds?: string;
  patientMatch?: string;
  documentSearch?: string;
  callsPerSecond?: string;
  callsPerMinute?: string;
  incremental?: string;
  fullAfterDays?: string;
  facilities?: string;
}

export interface ConnectionOptions extends CredentialOptions, SettingOptions {
  account: string;
  source: string;
  name: string;
  baseUrl: string;
  replacesDefault?: boolean;
  paused?: boolean;
}

export function sourceOf(text: string): SourceType {
  const source = SOURCE_TYPES.find((type) => type === text);
  if (source === undefined)
    throw new AdminError(`"${text}" is not a source; expected ${SOURCE_TYPES.join(', ')}`);
  return source;
}

/** The settings that the options name, over the known ones; those that neither has get their defaults. */
export function settingsOf(
  options: SettingOptions,
  known: Partial<ConnectionSettings> = {},
): ConnectionSettings {
  const given: Record<keyof ConnectionSettings, unknown> = {
    allowedOrigins: setting(options.allowedOrigins, words),
    tokenOrigins: setting(options.tokenOrigins, words),
    ownBaseUrls: setting(options.ownBaseUrls, words),
    pageSize: setting(options.pageSize, Number),
    pageBytesMax: setting(options.maxMegabytes, (text) => Number(text) * 1_000_000),
    documentBytesMax: setting(options.maxDocumentMegabytes, (text) => Number(text) * 1_000_000),
    requestTimeoutMs: setting(options.timeoutSeconds, (text) => Number(text) * 1_000),
    patientMatch: setting(options.patientMatch, yesOrNo),
    documentSearch: setting(options.documentSearch, yesOrNo),
    callsPerSecond: setting(options.callsPerSecond, Number),
    callsPerMinute: setting(options.callsPerMinute, Number),
    incremental: setting(options.incremental, (text) => text === 'on'),
    fullAfterDays: setting(options.fullAfterDays, Number),
    facilityIds: setting(options.facilities, words),
  };
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const merged: [string, unknown][] = Object.entries({ ...known, ...Object.fromEntries(named) });
  return checked(
    connectionSettingsSchema,
    Object.fromEntries(merged.filter(([, value]) => value !== DEFAULT)),
  );
}

const DEFAULT = Symbol('default');

const setting = <T>(text: string | undefined, read: (text: string) => T): T | typeof DEFAULT | undefined =>
  text === undefined ? undefined : text.trim() === 'default' ? DEFAULT : read(text);

/** Anything else is left to the schema, which refuses it. */
const yesOrNo = (text: string): unknown => ({ yes: true, no: false })[text.trim()] ?? text;

/** The credentials that the options name; secrets are read from their files. */
export async function credentialsOf(options: CredentialOptions): Promise<ConnectionCredentials> {
  const file = async (option: string, path: string | undefined) =>
    path === undefined ? undefined : readSecret(option, path);
  const [ca, cert, key] = [
    await file('--tls-ca', options.tlsCa),
    await file('--tls-cert', options.tlsCert),
    await file('--tls-key', options.tlsKey),
  ];
  if ((cert === undefined) !== (key === undefined))
    throw new AdminError('--tls-cert and --tls-key belong together: give both or neither');
  return checked(connectionCredentialsSchema, {
    auth: await authOf(options),
    tls: { ca, cert, key, pins: options.tlsPins === undefined ? undefined : words(options.tlsPins) },
    callbackSecret: await file('--callback-secret-file', options.callbackSecretFile),
  });
}

async function authOf(options: CredentialOptions): Promise<unknown> {
  const { clientId, scope, tokenUrl } = options;
  const auth: ConnectionAuth = options.auth ?? 'none';
  const secret = () => readSecret('--secret-file', needed(auth, '--secret-file', options.secretFile));
  switch (auth) {
    case 'none':
      return { kind: 'none' };
    case 'bearer':
      return { kind: 'bearer', token: await secret() };
    case 'smart-backend':
      return {
        kind: 'smart-backend',
        clientId: needed(auth, '--client-id', clientId),
        scope,
        tokenUrl,
        algorithm: options.algorithm,
      };
    case 'udap':
      return {
        kind: 'udap',
        clientId,
        cert: await readSecret('--udap-cert', needed(auth, '--udap-cert', options.udapCert)),
        key: await readSecret('--udap-key', needed(auth, '--udap-key', options.udapKey)),
        anchors: await readSecret('--udap-anchors', needed(auth, '--udap-anchors', options.udapAnchors)),
        scope: needed(auth, '--scope', scope),
        clientName: needed(auth, '--client-name', options.clientName),
        contact: needed(auth, '--contact', options.contact),
        organizationId: needed(auth, '--organization-id', options.organizationId),
        organizationName: options.organizationName,
        community: options.community,
      };
    case 'client-secret-basic':
    case 'client-secret-post':
      return {
        kind: 'client-credentials',
        clientId: needed(auth, '--client-id', clientId),
        clientSecret: await secret(),
        tokenUrl: needed(auth, '--token-url', tokenUrl),
        scope,
        secretIn: auth === 'client-secret-post' ? 'form' : 'header',
      };
  }
}

function needed(auth: ConnectionAuth, option: string, value: string | undefined): string {
  if (value === undefined) throw new AdminError(`--auth ${auth} needs ${option}`);
  return value;
}

/** Never repeats a value, because it may be a secret. */
function checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new AdminError(`The connection is not valid:\n  ${problems.join('\n  ')}`);
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/**
 * Reads a secret from a file, or from stdin for `-`. Secrets are never taken from arguments: other users of the machine can
 * read those, and shells remember them.
 */
async function readSecret(option: string, path: string): Promise<string> {
  const content = path === '-' ? await text(process.stdin) : await readFileOf(option, path);
  const secret = content.trim();
  if (secret === '') throw new AdminError(`${option}: ${path === '-' ? 'stdin' : path} is empty`);
  return secret;
}

async function readFileOf(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new AdminError(`${option}: ${path} cannot be read; give a file, or - for stdin`);
  }
}
