import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import {
  currentSpan,
  type SpanStart,
  traced,
  traceHeaders,
} from '../../../lib/tracing/spans.ts';
import type { OpenEvent } from './claim-store.ts';
import {
  type DestinationRules,
  destinationProblem,
  guardedDispatchers,
} from './destination-guard.ts';
import type { WebhookKeys } from './webhook-key.ts';

export type SendResult =
  | { kind: 'delivered'; httpStatus: number; note: string }
  /**
   * The receiver wants no further events (410), or a subscription has ended.
   */
  | { kind: 'gone'; httpStatus?: number; note: string }
  | {
      kind: 'failed';
      httpStatus?: number;
      note: string;
      retryAfterMs?: number;
    };

/**
 * What is sent for an event to a FHIR Subscription: the bodies, one after the
 * other while each is accepted; or why it has ended.
 */
export type Notification =
  | {
      posts: readonly { body: string; onAccepted?: () => Promise<void> }[];
      headers: Readonly<Record<string, string>>;
      timeoutMs?: number;
    }
  | { ended: string };

export type WebhookSender = ReturnType<typeof createWebhookSender>;

/** Time that a receiver has to respond (docs/interface.md, Delivery). */
const RESPONSE_TIMEOUT_MS = 15_000;
const PONG_TIMEOUT_MS = 4_000;
/** Maximum size of a response body, which is discarded. */
const RESPONSE_BYTES_MAX = 1_000_000;

export function createWebhookSender(deps: {
  /**
   * Where webhooks may be sent. Checked at each attempt, because a host name
   * may resolve differently by then.
   */
  destinations: DestinationRules;
  /** Returns the body to send: the stored body with new, expiring links. */
  withLinks(accountId: string, event: OpenEvent): Record<string, unknown>;
  /** Returns what is sent to a FHIR Subscription. */
  notificationOf(accountId: string, event: OpenEvent): Promise<Notification>;
  webhookKeys: Pick<WebhookKeys, 'open'>;
  /** The traces of messages that this process has announced. */
  causes?: Pick<EventCauses, 'of'>;
  responseTimeoutMs?: number;
}) {
  const responseTimeoutMs = deps.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS;
  const dispatcherFor = guardedDispatchers(deps.destinations, {
    headersTimeout: responseTimeoutMs,
    bodyTimeout: responseTimeoutMs,
    maxResponseSize: RESPONSE_BYTES_MAX,
  });

  /**
   * Resolves when the response headers have arrived; the caller must consume
   * the body.
   */
  const post = (
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ) =>
    request(url, {
      method: 'POST',
      dispatcher: dispatcherFor(url),
      headers: { ...headers, ...traceHeaders() },
      body,
      signal,
    });
  const signed = ({ keys, messageId }: Signed, body: string) => ({
    'content-type': 'application/json',
    ...signatures(messageId, keys.map(deps.webhookKeys.open), body),
  });

  async function messageOf(
    accountId: string,
    event: OpenEvent,
  ): Promise<Notification> {
    if (event.type.startsWith('subscription.'))
      return deps.notificationOf(accountId, event);
    const body = JSON.stringify(deps.withLinks(accountId, event));
    return { posts: [{ body }], headers: signed(event, body) };
  }

  return {
    /** Sends an event once. Never throws. */
    async send(accountId: string, event: OpenEvent): Promise<SendResult> {
      const problem = destinationProblem(event.url, deps.destinations);
      if (problem !== undefined)
        return { kind: 'failed', note: `the destination ${problem}` };
      return traced(spanOf(accountId, event, deps.causes), async (span) => {
        let timeoutMs = responseTimeoutMs;
        try {
          const message = await messageOf(accountId, event);
          if ('ended' in message) return { kind: 'gone', note: message.ended };
          timeoutMs = Math.min(timeoutMs, message.timeoutMs ?? timeoutMs);
          // For all of them: the claim of the event lasts no longer.
          const signal = AbortSignal.timeout(timeoutMs);
          let result: SendResult = { kind: 'failed', note: 'nothing to send' };
          for (const { body, onAccepted } of message.posts) {
            const response = await post(
              event.url,
              message.headers,
              body,
              signal,
            );
            span?.set({ 'http.response.status_code': response.statusCode });
            // Only the status counts, even if reading the body fails.
            await response.body.dump().catch(() => undefined);
            result = classify(
              response.statusCode,
              response.headers['retry-after'],
            );
            if (result.kind !== 'delivered') return result;
            await onAccepted?.();
          }
          return result;
        } catch (error) {
          const note = noteOf(error, timeoutMs);
          span?.set({ 'error.type': note });
          return { kind: 'failed', note };
        }
      });
    },

    /**
     * Whether the destination responds to `{ping}` with the same value as
     * `{pong}` within 4 s. Never throws.
     */
    async ping({
      url,
      keys,
    }: Pick<OpenEvent, 'url' | 'keys'>): Promise<boolean> {
      if (destinationProblem(url, deps.destinations) !== undefined)
        return false;
      const messageId = uuidv7();
      const ping = uuidv7();
      const body = JSON.stringify({
        ping,
        meta: { messageId, when: new Date().toISOString(), type: 'ping' },
      });
      try {
        const signal = AbortSignal.timeout(PONG_TIMEOUT_MS);
        const response = await post(
          url,
          signed({ keys, messageId }, body),
          body,
          signal,
        );
        const { pong } = (await response.body.json()) as { pong?: unknown };
        return response.statusCode < 300 && pong === ping;
      } catch {
        return false;
      }
    },
  };
}

/**
 * An attempt of a destination's workflow belongs to its trace; the first one to
 * the trace of what announced the message.
 */
const spanOf = (
  accountId: string,
  event: OpenEvent,
  causes: Pick<EventCauses, 'of'> | undefined,
): SpanStart => ({
  name: 'send webhook',
  kind: 'client',
  parent: currentSpan()?.traceparent ?? causes?.of(event.messageId),
  attributes: {
    'exchange.account.id': accountId,
    'exchange.message.id': event.messageId,
    'exchange.event.type': event.type,
    'exchange.attempt': event.attempts,
  },
});

/** The id of a message, and the keys that sign it. */
type Signed = Pick<OpenEvent, 'messageId' | 'keys'>;

function classify(
  httpStatus: number,
  retryAfter: string | string[] | undefined,
): SendResult {
  const note = String(httpStatus);
  if (httpStatus >= 200 && httpStatus < 300)
    return { kind: 'delivered', httpStatus, note };
  if (httpStatus === 410) return { kind: 'gone', httpStatus, note };
  if (httpStatus >= 300 && httpStatus < 400)
    return {
      kind: 'failed',
      httpStatus,
      note: `${note}, redirects are not followed`,
    };
  return {
    kind: 'failed',
    httpStatus,
    note,
    retryAfterMs: retryAfterMs(retryAfter),
  };
}

/**
 * The headers of Standard Webhooks and, for existing receivers, the hex HMAC of
 * the raw body. While two keys are valid, the first contains a signature of
 * each; the second has room for one only, which is made with the older key.
 */
function signatures(
  messageId: string,
  keys: readonly string[],
  body: string,
): Record<string, string> {
  const now = new Date();
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': keys
      .map((key) => new Webhook(key).sign(messageId, now, body))
      .join(' '),
    'x-metriport-signature': createHmac('sha256', keys.at(-1) ?? '')
      .update(body)
      .digest('hex'),
  };
}

function noteOf(error: unknown, responseTimeoutMs: number): string {
  const { name, code } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT')
    return `no response within ${responseTimeoutMs / 1000} s`;
  return code ?? name ?? 'connection failed';
}

/**
 * Long enough for a first attempt that waits for earlier ones; a later one
 * belongs to the destination's workflow.
 */
const KEPT_MS = 10 * 60_000;
const KEPT_MAX = 20_000;

/**
 * The traces in which messages were announced, so that a webhook sent by the
 * process that committed it is part of the trace. Only in memory: a trace is
 * not worth a column and its write
 * (docs/decisions/0129-traces-without-a-person.md).
 */
export class EventCauses {
  readonly #traceparents = new LRUCache<string, string>({
    max: KEPT_MAX,
    ttl: KEPT_MS,
  });

  /** Remembers what runs now as the cause of these messages. */
  note(messageIds: readonly string[]): void {
    const cause = currentSpan()?.traceparent;
    if (cause !== undefined)
      for (const id of messageIds) this.#traceparents.set(id, cause);
  }

  of(messageId: string): string | undefined {
    return this.#traceparents.get(messageId);
  }
}
