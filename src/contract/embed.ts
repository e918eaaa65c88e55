import { z } from 'zod';

/** Longest life of an embed token, and how long one lives when nothing else is said: 10 hours (interface.md, E1). */
export const EMBED_TOKEN_SECONDS_MAX = 36_000;

/** The body of E1 may be left out. */
export const createEmbedTokenBodySchema = z
  .object({
    expirationInSeconds: z
      .number({ error: 'expirationInSeconds is a number of seconds' })
      .int({ error: 'expirationInSeconds is a whole number of seconds' })
      .min(1, { error: 'expirationInSeconds is at least 1' })
      .max(EMBED_TOKEN_SECONDS_MAX, { error: `expirationInSeconds is at most ${EMBED_TOKEN_SECONDS_MAX}` })
      .default(EMBED_TOKEN_SECONDS_MAX),
  })
  .nullish()
  .transform((body) => body ?? { expirationInSeconds: EMBED_TOKEN_SECONDS_MAX });

export const embedTokenSchema = z
  .object({
    token: z.string().meta({ description: 'For the fragment of the embedded page, or as a bearer token.' }),
  })
  .meta({ id: 'EmbedToken' });
