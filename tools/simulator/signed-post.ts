import type { Webhook } from 'standardwebhooks';
import { request } from 'undici';

const TIMEOUT_MS = 10_000;

/**
 * Sends one POST, signed according to Standard Webhooks. Returns the HTTP
 * status, 0 for no response.
 */
export async function signedPost(
  url: string,
  signer: Webhook,
  messageId: string,
  body: string,
): Promise<number> {
  const now = new Date();
  try {
    const response = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': messageId,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(messageId, now, body),
      },
      body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    await response.body.dump();
    return response.statusCode;
  } catch {
    return 0;
  }
}
