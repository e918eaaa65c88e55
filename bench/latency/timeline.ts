import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import type { TestStack } from '../../test/support/stack.ts';

/** What happened, in milliseconds after the answer of E2. */
export interface Moment {
  atMs: number;
  what: string;
}

/**
 * One query by all who saw it: the caller, Temporal's history, PostgreSQL's
 * rows, the source and the receiver of the webhook, on one machine's clock.
 */
export async function readTimeline(
  stack: TestStack,
  query: {
    requestId: string;
    sentAt: number;
    answeredAt: number;
    arrivedAt: number;
    spans: readonly { from: number; to: number }[];
  },
): Promise<Moment[]> {
  const { requestId, answeredAt } = query;
  const ofCaller = (at: number, what: string): Moment => ({
    atMs: at - answeredAt,
    what,
  });
  const zero = performance.timeOrigin + answeredAt;
  const ofClock = (at: number, what: string): Moment => ({
    atMs: at - zero,
    what,
  });

  const { events } = await stack.temporal.workflow
    .getHandle(networkQueryWorkflowId(requestId))
    .fetchHistory();
  const history = (events ?? []).map((event) =>
    ofClock(
      Number(event.eventTime?.seconds) * 1_000 +
        Number(event.eventTime?.nanos) / 1e6,
      `Temporal: ${nameOf(event)}`,
    ),
  );
  const rows = await stack.rows<{ at: string; what: string }>(ROWS, [
    requestId,
  ]);
  return [
    ofCaller(query.sentAt, 'caller: E2 is sent'),
    ofCaller(answeredAt, 'caller: E2 is answered'),
    ofCaller(query.arrivedAt, 'receiver: the webhook arrives'),
    ...query.spans.flatMap(({ from, to }) => [
      ofCaller(from, 'source: is asked'),
      ofCaller(to, 'source: has answered'),
    ]),
    ...history,
    ...rows.map(({ at, what }) => ofClock(Number(at), `PostgreSQL: ${what}`)),
  ].sort((one, other) => one.atMs - other.atMs);
}

/** Such as `activityTaskStarted`. */
const nameOf = (event: object): string =>
  Object.entries(event)
    .find(([key, value]) => key.endsWith(ATTRIBUTES) && value != null)?.[0]
    .replace(ATTRIBUTES, '') ?? 'event';
const ATTRIBUTES = 'EventAttributes';

/** Times of rows are those at which their transactions began. */
const ROWS = `
  select extract(epoch from at) * 1000 as at, what from (
    select started_at, 'transaction of E2 began' from network_query where id = $1
    union all
    select at, 'timeline: ' || kind from network_query_timeline where query_id = $1
    union all
    select last_attempt_at, 'event claimed' from event where request_id = $1
    union all
    select delivered_at, 'delivery recorded' from event where request_id = $1
  ) as moments (at, what) where at is not null`;
