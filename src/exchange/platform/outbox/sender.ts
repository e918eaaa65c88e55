import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import type { LinkMaker } from '../links/signed-link.ts';
import {
  type DestinationRules,
  guardedLookup,
  isTrustedDestination,
  refusedDestination,
} from './destination-guard.ts';
import { linkedBody } from './event-links.ts';
import type { OpenEvent } from './event-store.ts';
import type { WebhookKeys } from './webhook-key.ts';

export type SendResult =
  | { kind: 'delivered'; httpStatus: number; note: string }
  /** The receiver wants nothing more (410). */
  | { kind: 'gone'; httpStatus: number; note: string }
  | { kind: 'failed'; httpStatus?: number; note: string; retryAfterMs?: number };

export interface WebhookSender {
  /** Sends an event once. Never throws. */
  send(accountId: string, event: OpenEvent): Promise<SendResult>;
  /** Whether the destination answers a ping as it must: `{ping}` by `{pong}` within 4 s. Never throws. */
  ping(destination: Pick<OpenEvent, 'url' | 'keys'>): Promise<boolean>;
}

/** A receiver has 15 s for its answer (interface-decisions.md, "Delivery"). */
const ANSWER_TIMEOUT_MS = 15_000;
const PONG_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Nobody reads the answer's body. */
const ANSWER_BYTES_MAX = 1_000_000;

export function createWebhookSender(deps: {
  /** Where webhooks may go; checked at each attempt, for a name may have turned private since it was set. */
  destinations: DestinationRules;
  links: LinkMaker;
  webhookKeys: Pick<WebhookKeys, 'open'>;
  answerTimeoutMs?: number;
}): WebhookSender {
  const answerTimeoutMs = deps.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  const limits = {
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
    maxResponseSize: ANSWER_BYTES_MAX,
  };
  const guarded = new Agent({
    connect: { lookup: guardedLookup(deps.destinations), timeout: CONNECT_TIMEOUT_MS },
    ...limits,
  });
  // Apart, so that a trusted host's other ports stay behind the guard.
  const trusted = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, ...limits });

  /** Resolves with the answer's head; whoever wants the body reads it. */
  const post = ({ url, keys, messageId }: Signed & { url: string }, body: string, timeoutMs: number) =>
    request(url, {
      method: 'POST',
      dispatcher: isTrustedDestination(url, deps.destinations) ? trusted : guarded,
      headers: {
        'content-type': 'application/json',
        ...signatures(messageId, keys.map(deps.webhookKeys.open), body),
      },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });

  return {
    async send(accountId, event) {
      const refused = refusedDestination(event.url, deps.destinations);
      if (refused !== undefined) return { kind: 'failed', note: `the destination ${refused}` };
      const body = JSON.stringify(linkedBody(deps.links, accountId, event));
      try {
        const answer = await post(event, body, answerTimeoutMs);
        // The status is the answer, whatever becomes of the body.
        await answer.body.dump().catch(() => undefined);
        return classify(answer.statusCode, answer.headers['retry-after']);
      } catch (error) {
        return { kind: 'failed', note: noteOf(error, answerTimeoutMs) };
      }
    },

    async ping({ url, keys }) {
      if (refusedDestination(url, deps.destinations) !== undefined) return false;
      const [messageId, ping] = [uuidv7(), uuidv7()];
      const body = JSON.stringify({
        ping,
        meta: { messageId, when: new Date().toISOString(), type: 'ping' },
      });
      try {
        const answer = await post({ url, keys, messageId }, body, PONG_TIMEOUT_MS);
        const { pong } = (await answer.body.json()) as { pong?: unknown };
        return answer.statusCode < 300 && pong === ping;
      } catch {
        return false;
      }
    },
  };
}

/** Which keys sign a message of which id. */
type Signed = Pick<OpenEvent, 'messageId' | 'keys'>;

function classify(httpStatus: number, retryAfter: string | string[] | undefined): SendResult {
  const note = String(httpStatus);
  if (httpStatus >= 200 && httpStatus < 300) return { kind: 'delivered', httpStatus, note };
  if (httpStatus === 410) return { kind: 'gone', httpStatus, note };
  if (httpStatus >= 300 && httpStatus < 400)
    return { kind: 'failed', httpStatus, note: `${note}, redirects are not followed` };
  return { kind: 'failed', httpStatus, note, retryAfterMs: retryAfterMs(retryAfter) };
}

/**
 * Standard Webhooks, and for existing receivers the hex HMAC of the raw body. While two keys are valid both sign; the
 * second header has place for one, and is made by the older key until that ends.
 */
function signatures(messageId: string, keys: readonly string[], body: string): Record<string, string> {
  const now = new Date();
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': keys.map((key) => new Webhook(key).sign(messageId, now, body)).join(' '),
    'x-metriport-signature': createHmac('sha256', keys.at(-1) ?? '')
      .update(body)
      .digest('hex'),
  };
}

function noteOf(error: unknown, answerTimeoutMs: number): string {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT')
    return `no answer within ${answerTimeoutMs / 1000} s`;
  return code ?? name ?? 'connection failed';
}
