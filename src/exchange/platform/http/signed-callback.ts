import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import {
  isSignedBy,
  readWebhookHeaders,
} from '../../../lib/standard-webhooks.ts';

export type CallbackVerdict =
  | { isGenuine: true; messageId: string }
  | { isGenuine: false; reason: string };

/**
 * Verifies the signature of a source's callback (Standard Webhooks: HMAC-SHA256
 * over id, timestamp and body, at most 5 minutes old). Several secrets are
 * accepted so that they can be rotated. The body is only a hint, so it is not
 * returned; the message id identifies repeats.
 *
 * @throws TypeError when a configured secret is not valid base64
 */
export function verifySourceCallback(
  secrets: string | readonly string[],
  headers: Record<string, string | string[] | undefined>,
  rawBody: Buffer | string,
): CallbackVerdict {
  const signed = readWebhookHeaders(headers);
  if (typeof signed === 'string') return { isGenuine: false, reason: signed };
  if (secrets.length === 0)
    return {
      isGenuine: false,
      reason: 'no secret is configured for this source',
    };
  return [secrets].flat().some((secret) => isSignedBy(secret, signed, rawBody))
    ? { isGenuine: true, messageId: signed.id }
    : { isGenuine: false, reason: 'no matching signature found' };
}

/**
 * The body of a callback as its schema has it; undefined for anything else, as
 * for text that is not UTF-8.
 */
export function readCallback<S extends z.ZodType>(
  schema: S,
  rawBody: Buffer,
): z.output<S> | undefined {
  try {
    return schema.safeParse(
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody)),
    ).data;
  } catch {
    return undefined;
  }
}

/**
 * Refuses requests without the headers of a fresh signature before their body
 * is read. Headers can be forged, so this does not replace the verification; it
 * keeps out what comes by chance.
 */
export function refuseUnsigned(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (typeof readWebhookHeaders(headers) === 'string')
      return reply.code(401).send();
  });
}
