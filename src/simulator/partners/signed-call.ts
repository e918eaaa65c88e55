import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { signedPost } from '../signed-post.ts';

const TRIES = 3;

/** Both sides of a partner's protocol sign what they send, by the rules of Standard Webhooks. */
export class SignedCalls {
  readonly #signer: Webhook;

  /** Throws when the secret is no key. */
  constructor(secret: string) {
    this.#signer = new Webhook(secret);
  }

  /** Whether it was the exchange that sent this. */
  isGenuine(headers: Record<string, unknown>, body: string): boolean {
    try {
      this.#signer.verify(body, headers as Record<string, string>, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  }

  /** Tells the exchange something; again when it does not answer or has a fault. Returns the last status, 0 for none. */
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
