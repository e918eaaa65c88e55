import type { Received } from '../../../test/support/stack.ts';

export interface Expected {
  requestId: string;
  type: string;
  /** Messages with an id of their own; default: one. */
  atLeast?: number;
  atMost: number;
}

/** Sent when it is; what is promised is that it comes at most once. */
const FIRST_DATA = 'network-query.hie.first-data-ready';

/** Compares the receiver's log with what had to be sent. */
export function checkWebhooks(
  received: readonly Received[],
  expected: readonly Expected[],
): { faults: string[]; messages: number; repeats: number } {
  const faults: string[] = [];
  const requests = new Set(expected.map(({ requestId }) => requestId));
  const lines = received.filter(({ requestId }) =>
    requests.has(requestId ?? ''),
  );
  const ids = new Map<string, Set<string>>();
  for (const { requestId, type, messageId } of lines) {
    const fact = `${type} of ${requestId}`;
    ids.set(fact, (ids.get(fact) ?? new Set()).add(messageId));
  }
  for (const { requestId, type, atLeast = 1, atMost } of expected) {
    const fact = `${type} of ${requestId}`;
    const count = ids.get(fact)?.size ?? 0;
    if (count < atLeast || count > atMost)
      faults.push(`webhook ${fact}: ${count} messages`);
    ids.delete(fact);
  }
  for (const [fact, { size }] of ids)
    if (!fact.startsWith(FIRST_DATA) || size > 1)
      faults.push(`webhook ${fact}: ${size} messages, none expected`);
  const messages = new Set(lines.map(({ messageId }) => messageId)).size;
  return { faults, messages, repeats: lines.length - messages };
}
