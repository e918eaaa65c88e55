import { Webhook, WebhookVerificationError } from 'standardwebhooks';

export type CallbackVerdict = { isGenuine: true; messageId: string } | { isGenuine: false; reason: string };

/**
 * Whether a callback comes from the source, by Standard Webhooks: HMAC-SHA256 over id, time and body, at most
 * 5 minutes old. Several secrets are for the time of a rotation. The body is only a hint, so it is not returned;
 * the message id tells repeats.
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
      // Anything else is a secret that is none: a fault of the configuration, not of the callback.
      if (!(error instanceof WebhookVerificationError))
        throw new TypeError('a callback secret is not valid base64');
      reason = error.message.toLowerCase();
    }
  }
  return { isGenuine: false, reason };
}
