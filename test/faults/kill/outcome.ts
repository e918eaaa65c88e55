import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import type { StackAccess, StackAccount } from '../../support/stack.ts';

/**
 * What came of one person, in a form that is the same for every undisturbed
 * run.
 */
export interface PersonOutcome {
  patients: number;
  queries: QueryOutcome[];
  /** `hie 120 <hash of types, ids and contents>`, one for each source. */
  resources: string[];
}

export interface QueryOutcome {
  status: string;
  /**
   * `hie/1 completed, 4 pages, 120 resources, 0 strays, 5 documents`, in order.
   */
  attempts: string[];
  /** `network-query.hie/1`, in the order of their facts. */
  events: string[];
  /**
   * Lines of the timeline that are told once for a fact, with how often they
   * were.
   */
  told: string[];
  openRuns: number;
}

const TOLD_ONCE = [
  'query-accepted',
  'completed',
  'failed',
  'first-data-ready',
  'query-ended',
];

/**
 * Reads from PostgreSQL what became of the account's persons, by the key of the
 * sample.
 */
export async function readOutcome(
  { rows }: StackAccess,
  { accountId }: StackAccount,
): Promise<Record<string, PersonOutcome>> {
  const keys = new Map(
    loadSamplePatients().map(({ key, createBody }) => [
      createBody.externalId,
      key,
    ]),
  );
  const patients = await rows<{ id: string; external_id: string }>(
    'select id, external_id from patient where account_id = $1',
    [accountId],
  );
  const persons: Record<string, PersonOutcome> = {};
  for (const { id, external_id } of patients) {
    const key = keys.get(external_id) ?? external_id;
    const known = persons[key];
    persons[key] = {
      patients: (known?.patients ?? 0) + 1,
      queries: [...(known?.queries ?? []), ...(await readQueries(rows, id))],
      resources: [
        ...(known?.resources ?? []),
        ...(await readResources(rows, id)),
      ],
    };
  }
  return persons;
}

async function readQueries(
  rows: StackAccess['rows'],
  patientId: string,
): Promise<QueryOutcome[]> {
  const queries = await rows<{ id: string; status: string; open_runs: string }>(
    `select id, status, (select count(*) from network_query_run r where r.query_id = q.id and r.ended_at is null)
       as open_runs from network_query q where patient_id = $1 order by started_at`,
    [patientId],
  );
  return Promise.all(
    queries.map(async ({ id, status, open_runs }) => ({
      status,
      attempts: await lines(
        rows,
        `select format('%s/%s %s%s, %s pages, %s resources, %s strays, %s documents', source, attempt, status,
           case when will_retry then ' (again)' else '' end, pages, resources, strays,
           (select count(*) from document d where d.query_id = a.query_id and d.source = a.source)) as line
         from network_query_attempt a where query_id = $1 order by source, attempt`,
        id,
      ),
      events: await lines(
        rows,
        `select replace(fact_key, '/' || request_id, '') || ' ' || status as line from event where request_id = $1
         order by fact_key`,
        id,
      ),
      told: await lines(
        rows,
        `select format('%s %s/%s: %s', kind, source, attempt, count(*)) as line from network_query_timeline
         where query_id = $1 and kind = any('{${TOLD_ONCE.join(',')}}') group by kind, source, attempt order by 1`,
        id,
      ),
      openRuns: Number(open_runs),
    })),
  );
}

const readResources = (
  rows: StackAccess['rows'],
  patientId: string,
): Promise<string[]> =>
  lines(
    rows,
    `select format('%s %s %s', source, count(*), md5(string_agg(format('%s/%s %s', resource_type, source_id,
       encode(sha256, 'hex')), ',' order by resource_type, source_id))) as line
     from patient_resource where patient_id = $1 group by source order by source`,
    patientId,
  );

const lines = async (
  rows: StackAccess['rows'],
  statement: string,
  id: string,
): Promise<string[]> =>
  (await rows<{ line: string }>(statement, [id])).map(({ line }) => line);
