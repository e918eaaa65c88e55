import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { signedPost } from '../signed-post.ts';

const TRIES = 3;

/**
 * Signs and verifies the requests of a partner's protocol; both sides use
 * Standard Webhooks.
 */
export class SignedCalls {
  readonly #signer: Webhook;

  /** Throws when the secret is not a valid key. */
  constructor(secret: string) {
    this.#signer = new Webhook(secret);
  }

  /** Whether the exchange signed this request. */
  isGenuine(headers: Record<string, unknown>, body: string): boolean {
    try {
      this.#signer.verify(body, headers as Record<string, string>, {
        jsonParse: false,
      });
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Sends a signed request to the exchange, repeated when there is no response
   * or a 5xx status. Returns the last HTTP status, 0 for no response.
   */
  async post(url: string, messageId: string, content: object): Promise<number> {
    const body = JSON.stringify(content);
    let status = 0;
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await sleep(500, undefined, { ref: false });
      status = await signedPost(url, this.#signer, messageId, body);
      if (status > 0 && status < 500) return status;
    }
    return status;
  }
}
