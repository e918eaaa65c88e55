import { z } from 'zod';
import descriptions from './descriptions.json' with { type: 'json' };
import { baseUrls, flag, httpUrl } from './value-types.ts';

/** How a source knows us, as the environment names it. */
const SOURCE_AUTH_KINDS = [
  'none',
  'bearer',
  'client-secret-basic',
  'client-secret-post',
  'smart-backend',
] as const;

const count = z.coerce.number().int().min(1);

type Prefix = 'HIE' | 'PHARMACY' | 'LAB';

/** The settings of one source. */
const SETTINGS = {
  BASE_URL: httpUrl,
  BEARER_TOKEN: z.string().optional(),
  AUTH: z.enum(SOURCE_AUTH_KINDS).optional(),
  TOKEN_URL: httpUrl.optional(),
  CLIENT_ID: z.string().optional(),
  CLIENT_SECRET: z.string().optional(),
  SCOPE: z.string().optional(),
  TLS_CA: z.string().optional(),
  TLS_CERT: z.string().optional(),
  TLS_KEY: z.string().optional(),
  TLS_PINS: z
    .string()
    .regex(/^\s*(sha256\/[A-Za-z0-9+/]{43}=\s*)*$/, { error: 'each must have the form sha256/<base64>' })
    .optional(),
  CALLBACK_SECRET: z.string().optional(),
  ALLOWED_ORIGINS: z.string().optional(),
  TOKEN_ORIGINS: z.string().optional(),
  RATE_PER_SECOND: z.coerce.number().positive().default(50),
  RATE_PER_MINUTE: z.coerce.number().positive().optional(),
  PAGE_SIZE: count.max(10_000).default(200),
  PAGE_BYTES_MAX: count.default(20_000_000),
  DOCUMENT_BYTES_MAX: count.default(200_000_000),
  REQUEST_TIMEOUT_SECONDS: count.max(600).default(30),
  OWN_BASE_URLS: baseUrls.optional(),
  INCREMENTAL: flag.default(true),
  FULL_AFTER_DAYS: z.coerce.number().int().min(1).max(90).default(7),
};

type Settings = typeof SETTINGS;
type Prefixed<P extends Prefix> = { [K in keyof Settings as `${P}_${K}`]: Settings[K] };

/** The settings of one source, each named after the source: `HIE_BASE_URL`. */
const variablesOf = <const P extends Prefix>(prefix: P): Prefixed<P> =>
  Object.fromEntries(
    Object.entries(SETTINGS).map(([setting, type]) => [`${prefix}_${setting}`, type]),
  ) as Prefixed<P>;

export const SOURCE_VARIABLES = {
  ...variablesOf('HIE'),
  ...variablesOf('PHARMACY'),
  ...variablesOf('LAB'),
};

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends Prefix>(prefix: P): (keyof Prefixed<P>)[] =>
  Object.keys(variablesOf(prefix)) as (keyof Prefixed<P>)[];

const DESCRIPTIONS: Readonly<Record<keyof Settings, string>> = descriptions.ofSources;

/** What a variable of a source is for. */
export function describeSourceVariable(name: keyof typeof SOURCE_VARIABLES): string {
  const [, prefix = '', setting] = /^([A-Z]+)_(\w+)$/.exec(name) ?? [];
  return DESCRIPTIONS[setting as keyof Settings]
    .replaceAll('{source}', prefix.toLowerCase())
    .replaceAll('{SOURCE}', prefix);
}
