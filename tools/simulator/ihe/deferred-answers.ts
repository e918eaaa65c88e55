import { request } from 'undici';
import type { OutgoingMessage } from '#ihe';
import type { RequestLog } from '../request-log.ts';
import { messageBytes } from './gateway-call.ts';

/** An answer that is sent later, as a message of its own. */
export interface DeferredAnswer {
  /** Where it goes. */
  url: string;
  message: () => OutgoingMessage;
  /** One sending for each. */
  delaysMs: readonly number[];
  sample: string | undefined;
}

const TIMEOUT_MS = 10_000;

/**
 * The answers that the gateway still owes. A restart forgets them, as that of a
 * gateway might.
 */
export class DeferredAnswers {
  readonly #timers = new Set<NodeJS.Timeout>();
  private readonly log: RequestLog;

  constructor(log: RequestLog) {
    this.log = log;
  }

  send(answer: DeferredAnswer): void {
    for (const delayMs of answer.delaysMs) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        void this.#deliver(answer);
      }, delayMs);
      this.#timers.add(timer);
    }
  }

  close(): void {
    this.#timers.forEach(clearTimeout);
    this.#timers.clear();
  }

  async #deliver({ url, message, sample }: DeferredAnswer): Promise<void> {
    const startedAtMs = Date.now();
    const status = await post(url, message());
    this.log.add({
      at: new Date(startedAtMs).toISOString(),
      source: 'hie',
      operation: 'callback',
      method: 'POST',
      // The path may contain a secret of the receiver.
      path: '',
      ...(sample === undefined ? {} : { sample }),
      status,
      ms: Date.now() - startedAtMs,
    });
  }
}

/** Returns the HTTP status, 0 for no response. */
async function post(url: string, message: OutgoingMessage): Promise<number> {
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': message.contentType },
      body: await messageBytes(message),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    await response.body.dump();
    return response.statusCode;
  } catch {
    return 0;
  }
}
