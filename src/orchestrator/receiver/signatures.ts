import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import {
  isSignedBy,
  readWebhookHeaders,
  type WebhookHeaders,
} from '../../lib/standard-webhooks.ts';
import { parseJson } from './webhook-message.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Senders repeat a webhook for a little more than three days, and `meta.when`
 * stays the same.
 */
const PLAIN_AGE_MAX_MS = 4 * 24 * 3_600_000;
const CLOCK_SKEW_MS = 300_000;

/**
 * Whether one of the keys has signed this body. Accepts Standard Webhooks,
 * which limits the age to 300 s. Without its headers, accepts
 * `x-metriport-signature` (hex HMAC-SHA256 of the body, with the key string as
 * UTF-8). That signature has no timestamp, so `meta.when` in the body must not
 * be older than senders repeat a webhook. This prevents later replays; replays
 * within that time are recognised by the message id.
 */
export function isSigned(
  rawBody: Buffer,
  headers: Headers,
  keys: readonly string[],
): boolean {
  if (STANDARD_HEADERS.some((name) => headers[name] !== undefined)) {
    const signed = readWebhookHeaders(headers);
    return (
      typeof signed !== 'string' &&
      keys.some((key) => isStandardSigned(rawBody, signed, key))
    );
  }
  const signature = single(headers, 'x-metriport-signature');
  return (
    signature !== undefined &&
    keys.some((key) => isPlainlySigned(rawBody, signature, key)) &&
    isRecent(rawBody)
  );
}

const STANDARD_HEADERS = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
];

function isStandardSigned(
  rawBody: Buffer,
  signed: WebhookHeaders,
  key: string,
): boolean {
  try {
    return isSignedBy(key, signed, rawBody);
  } catch {
    // A key that is not base64 signs nothing in this form.
    return false;
  }
}

function isPlainlySigned(
  rawBody: Buffer,
  signature: string,
  key: string,
): boolean {
  const expected = createHmac('sha256', Buffer.from(key, 'utf8'))
    .update(rawBody)
    .digest();
  const given = Buffer.from(signature, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const envelopeSchema = z.object({
  meta: z.object({ when: z.iso.datetime({ offset: true }) }),
});

function isRecent(rawBody: Buffer): boolean {
  const envelope = envelopeSchema.safeParse(parseJson(rawBody));
  if (!envelope.success) return false;
  const ageMs = Date.now() - Date.parse(envelope.data.meta.when);
  return ageMs <= PLAIN_AGE_MAX_MS && ageMs >= -CLOCK_SKEW_MS;
}

function single(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(' ') : value;
}

/**
 * Splits configured keys, which are separated by blanks: during a rotation, the
 * new and the old key are both listed.
 */
export const parseKeys = (text: string | undefined): string[] =>
  text?.split(/\s+/).filter(Boolean) ?? [];
