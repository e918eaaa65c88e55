import { z } from 'zod';
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
const settingsOf = (prefix: Prefix, name: string) => ({
  BASE_URL: httpUrl.describe(`FHIR R4 base URL of the ${name} source`),
  BEARER_TOKEN: z.string().optional().describe(`Bearer token of the ${name} source`),
  AUTH: z
    .enum(SOURCE_AUTH_KINDS)
    .optional()
    .describe(
      `How the ${name} source knows us: none, bearer, client-secret-basic, client-secret-post or smart-backend; default: what the other variables suggest`,
    ),
  TOKEN_URL: httpUrl.optional().describe('OAuth 2 client credentials: token endpoint'),
  CLIENT_ID: z.string().optional().describe('OAuth 2 client credentials: client id'),
  CLIENT_SECRET: z.string().optional().describe('OAuth 2 client credentials: client secret'),
  SCOPE: z.string().optional().describe('OAuth 2 client credentials: scope to request'),
  TLS_CA: z
    .string()
    .optional()
    .describe(
      `Certificates (PEM) of the authorities that the ${name} source is trusted by, instead of public ones`,
    ),
  TLS_CERT: z
    .string()
    .optional()
    .describe(`Mutual TLS: our certificate (PEM, with its chain) for the ${name} source`),
  TLS_KEY: z.string().optional().describe('Mutual TLS: the key of our certificate (PEM)'),
  TLS_PINS: z
    .string()
    .regex(/^\s*(sha256\/[A-Za-z0-9+/]{43}=\s*)*$/, { error: 'each must have the form sha256/<base64>' })
    .optional()
    .describe(
      `Public keys, separated by spaces, of which the certificate of the ${name} source must have one`,
    ),
  CALLBACK_SECRET: z
    .string()
    .optional()
    .describe(
      `Key with which the ${name} source signs its callbacks (Standard Webhooks); without it, the source is only polled`,
    ),
  ALLOWED_ORIGINS: z
    .string()
    .optional()
    .describe(`Further origins to which links of the ${name} source may point, separated by spaces`),
  TOKEN_ORIGINS: z
    .string()
    .optional()
    .describe(`Further origins to which the ${name} source's token is sent, separated by spaces`),
  RATE_PER_SECOND: z.coerce
    .number()
    .positive()
    .default(50)
    .describe(`HTTP calls per second that the ${name} source allows, for all workers together`),
  RATE_PER_MINUTE: z.coerce
    .number()
    .positive()
    .optional()
    .describe(
      `HTTP calls per minute that the ${name} source allows, for all workers together; default: no limit`,
    ),
  PAGE_SIZE: count
    .max(10_000)
    .default(200)
    .describe(`Resources per page that the ${name} source is asked for (_count)`),
  PAGE_BYTES_MAX: count
    .default(20_000_000)
    .describe(`Largest page of the ${name} source, in bytes; a larger one is asked for in smaller pages`),
  DOCUMENT_BYTES_MAX: count
    .default(200_000_000)
    .describe(`Largest document (attachment) of the ${name} source, in bytes; larger ones are skipped`),
  REQUEST_TIMEOUT_SECONDS: count
    .max(600)
    .default(30)
    .describe(`Time for one request to the ${name} source; for documents and files: between their parts`),
  OWN_BASE_URLS: baseUrls
    .optional()
    .describe(
      `Base URLs, separated by spaces, by which the ${name} source wrongly calls itself in links; replaced by ${prefix}_BASE_URL`,
    ),
  INCREMENTAL: flag
    .default(true)
    .describe(
      `Ask the ${name} source only for what has changed, where its server is found to honour it: true or false`,
    ),
  FULL_AFTER_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(90)
    .default(7)
    .describe(`Ask the ${name} source for everything at least this often, in days`),
});

type Settings = ReturnType<typeof settingsOf>;
type Prefixed<P extends Prefix> = { [K in keyof Settings as `${P}_${K}`]: Settings[K] };

/** The settings of one source, each named after the source: `HIE_BASE_URL`. */
const variablesOf = <const P extends Prefix>(prefix: P, name: string): Prefixed<P> =>
  Object.fromEntries(
    Object.entries(settingsOf(prefix, name)).map(([setting, type]) => [`${prefix}_${setting}`, type]),
  ) as Prefixed<P>;

export const SOURCE_VARIABLES = {
  ...variablesOf('HIE', 'hie'),
  ...variablesOf('PHARMACY', 'pharmacy'),
  ...variablesOf('LAB', 'lab'),
};

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends Prefix>(prefix: P): (keyof Prefixed<P>)[] =>
  Object.keys(variablesOf(prefix, '')) as (keyof Prefixed<P>)[];
