import { Webhook, WebhookVerificationError } from 'standardwebhooks';

export type CallbackVerdict = { isGenuine: true; messageId: string } | { isGenuine: false; reason: string };

/**
 * Verifies the signature of a source's callback (Standard Webhooks: HMAC-SHA256 over id, timestamp and body, at most
 * 5 minutes old). Several secrets are accepted so that they can be rotated. The body is only a hint, so it is not
 * returned; the message id identifies repeats.
 *
 * @throws TypeError when a configured secret is not valid base64
 */
export function verifySourceCallback(
  secrets: string | readonly string[],
  headers: Record<string, string | string[] | undefined>,
  rawBody: Buffer | string,
): CallbackVerdict {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') plain[name.toLowerCase()] = value;
  }
  let reason = 'no secret is configured for this source';
  for (const secret of [secrets].flat()) {
    try {
      new Webhook(secret).verify(rawBody, plain, { jsonParse: false });
      return { isGenuine: true, messageId: plain['webhook-id'] ?? '' };
    } catch (error) {
      // Any other error means an invalid secret: the configuration is wrong, not the callback.
      if (!(error instanceof WebhookVerificationError))
        throw new TypeError('a callback secret is not valid base64');
      reason = error.message.toLowerCase();
    }
  }
  return { isGenuine: false, reason };
}
