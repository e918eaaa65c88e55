import { LRUCache } from 'lru-cache';
import { currentSpan } from '../../../lib/tracing/spans.ts';

/** Long enough for a first attempt that waits for earlier ones; a later one belongs to the destination's workflow. */
const KEPT_MS = 10 * 60_000;
const KEPT_MAX = 20_000;

/**
 * The traces in which messages were announced, so that a webhook sent by the process that committed it is part of the trace.
 * Only in memory: a trace is not worth a column and its write (docs/decisions/0129-traces-without-a-person.md).
 */
export class EventCauses {
  readonly #traceparents = new LRUCache<string, string>({ max: KEPT_MAX, ttl: KEPT_MS });

  /** Remembers what runs now as the cause of these messages. */
  note(messageIds: readonly string[]): void {
    const cause = currentSpan()?.traceparent;
    if (cause !== undefined) for (const id of messageIds) this.#traceparents.set(id, cause);
  }

  of(messageId: string): string | undefined {
    return this.#traceparents.get(messageId);
  }
}
