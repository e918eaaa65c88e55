import { createHmac, timingSafeEqual } from 'node:crypto';

/** The headers of a signed message, by the Standard Webhooks specification. */
export interface WebhookHeaders {
  id: string;
  /** Seconds since 1970. */
  timestamp: number;
  signatures: string[];
}

const AGE_MAX_SECONDS = 300;

/**
 * Reads the headers of a message, so that a message without a possible
 * signature is refused before its body is read.
 *
 * @returns a description of the problem if the headers are incomplete,
 *   malformed, or more than 5 minutes off
 */
export function readWebhookHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): WebhookHeaders | string {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string') plain[name.toLowerCase()] = value;
  const {
    'webhook-id': id,
    'webhook-timestamp': sentAt,
    'webhook-signature': signature,
  } = plain;
  if (!id || !sentAt || !signature) return 'missing required headers';
  const signatures = signature
    .split(' ')
    .flatMap((each) => /^v1,([A-Za-z0-9+/]{43}=)(?:,|$)/.exec(each)?.[1] ?? []);
  if (!/^\d{1,12}$/.test(sentAt) || signatures.length === 0)
    return 'invalid signature headers';
  const ageSeconds = Math.floor(Date.now() / 1_000) - Number(sentAt);
  if (ageSeconds > AGE_MAX_SECONDS) return 'message timestamp too old';
  if (ageSeconds < -AGE_MAX_SECONDS) return 'message timestamp too new';
  return { id, timestamp: Number(sentAt), signatures };
}

/**
 * Whether this secret signed the message: HMAC-SHA256 over id, timestamp and
 * body. Uses node:crypto, because the package `standardwebhooks` computes it in
 * JavaScript, which takes seconds for tens of megabytes.
 *
 * @throws TypeError when the secret is not base64 (after an optional `whsec_`)
 */
export function isSignedBy(
  secret: string,
  { id, timestamp, signatures }: WebhookHeaders,
  body: Buffer | string,
): boolean {
  const base64 = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new TypeError('a webhook secret is not valid base64');
  const hmac = createHmac('sha256', Buffer.from(base64, 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(body);
  const expected = hmac.digest();
  return signatures.some((signature) =>
    timingSafeEqual(Buffer.from(signature, 'base64'), expected),
  );
}
