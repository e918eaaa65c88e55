import { z } from 'zod';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { component } from './primitives.ts';

/**
 * Maximum and default lifetime of an embed token: 10 hours (docs/interface.md,
 * E1).
 */
export const EMBED_TOKEN_SECONDS_MAX = 36_000;

/** The body of E1 is optional. */
export const createEmbedTokenBodySchema = z
  .object({
    expirationInSeconds: z
      .number({ error: 'expirationInSeconds must be a number of seconds' })
      .int({ error: 'expirationInSeconds must be a whole number of seconds' })
      .min(1, { error: 'expirationInSeconds must be at least 1' })
      .max(EMBED_TOKEN_SECONDS_MAX, {
        error: `expirationInSeconds must be at most ${EMBED_TOKEN_SECONDS_MAX}`,
      })
      .default(EMBED_TOKEN_SECONDS_MAX),
  })
  .nullish()
  .transform(
    (body) => body ?? { expirationInSeconds: EMBED_TOKEN_SECONDS_MAX },
  );

export const embedTokenSchema = component('EmbedToken', {
  token: z
    .string()
    .describe(
      'Goes into the URL fragment of the embedded page, or is sent as a bearer token.',
    ),
});

export const embedTokenEndpoints = {
  createEmbedToken: endpoint(
    'POST /medical/v1/token/embed',
    {
      tag: 'embedding',
      reference: 'E1',
      summary: 'Create embed token',
      description:
        'Creates a token for the embedded patient page, `/embed/{account}/patient/{id}#access_token={token}`. The token can read what that page shows, for any patient of the account, and nothing else. It becomes invalid when it expires or when the API key that created it is revoked.',
    },
    embedTokenSchema,
    {
      scope: 'read',
      body: createEmbedTokenBodySchema,
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const embedTokenExamples = {
  createEmbedToken: {
    body: { expirationInSeconds: 3600 },
    answer: {
      token:
        'eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJlbWJlZCJ9.FElFSo2vjfP0h8wKZEbIAHUWj65',
    },
  },
} satisfies ExamplesOf<typeof embedTokenEndpoints>;
