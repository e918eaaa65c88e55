import type { StackAccess, StackAccount } from '../../../test/support/stack.ts';

/** What became of the queries of an account. */
export interface QueriesOutcome {
  /** Queries by status, such as `completed`. */
  statuses: Record<string, number>;
  /** Patients without any query, and with several. */
  patients: { without: number; several: number };
  /**
   * Different records that the same patient at the sources led to: 1 if nothing
   * is missing or doubled anywhere.
   */
  differentRecords: number;
  webhooks: {
    /** Events that were committed. */
    events: number;
    /** Events that never reached the receiver. */
    lost: number;
    /** Deliveries beyond the first of each event. */
    repeated: number;
  };
  /** Requests to the sources that began an answer, and all. */
  sources: { begun: number; all: number };
}

/**
 * Everything after `seenBefore` in the simulator's log belongs to this account:
 * the variants run in turns.
 */
export async function readQueriesOutcome(
  { rows, received, simulator }: StackAccess,
  { accountId }: StackAccount,
  seenBefore: number,
): Promise<QueriesOutcome> {
  const statuses = await rows<{ status: string; count: number }>(
    'select status, count(*)::int as count from network_query where account_id = $1 group by 1 order by 1',
    [accountId],
  );
  const [patients] = await rows<{ without: number; several: number }>(
    `select count(*) filter (where queries = 0)::int as without, count(*) filter (where queries > 1)::int as several
     from (select (select count(*) from network_query q where q.patient_id = p.id) as queries
           from patient p where account_id = $1) counted`,
    [accountId],
  );
  const [records] = await rows<{ different: number }>(
    `select count(distinct record)::int as different from (
       select string_agg(format('%s/%s/%s %s', source, resource_type, source_id, encode(sha256, 'hex')), ','
         order by source, resource_type, source_id) as record
       from patient p left join patient_resource r on r.patient_id = p.id
       where p.account_id = $1 group by p.id) records`,
    [accountId],
  );
  const events = new Set(
    (
      await rows<{ id: string }>('select id from event where account_id = $1', [
        accountId,
      ])
    ).map(({ id }) => id),
  );
  const deliveries = (await received()).filter(({ messageId }) =>
    events.has(messageId),
  );
  const arrived = new Set(deliveries.map(({ messageId }) => messageId));
  const requests = await simulator.requests({ after: seenBefore });
  return {
    statuses: Object.fromEntries(
      statuses.map(({ status, count }) => [status, count]),
    ),
    patients: patients ?? { without: Number.NaN, several: Number.NaN },
    differentRecords: records?.different ?? Number.NaN,
    webhooks: {
      events: events.size,
      lost: events.size - arrived.size,
      repeated: deliveries.length - arrived.size,
    },
    sources: {
      begun: requests.filter(({ operation }) => operation === 'everything')
        .length,
      all: requests.length,
    },
  };
}
