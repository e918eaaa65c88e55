import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { CohortMonitoringStatus } from '../../../src/contract/cohort-monitoring.ts';
import { backgroundLimit } from '../../../src/contract/query-limits.ts';
import { cohortMonitoringWorkflowId } from '../../../src/contract/temporal.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../../support/stack.ts';
import { killPart } from '../kill/kill-part.ts';
import { until } from '../kill/until.ts';

export interface MonitoringRound {
  patients: number;
  /**
   * The account's limit of queries of a source per minute; monitoring may use
   * 80 % of it.
   */
  queriesPerMinute: number;
  /** How often the worker is killed, spread evenly over the work. */
  kills: number;
  timeoutMs: number;
  /**
   * False: nobody carries the queries out; that they are accepted is all there
   * is to see.
   */
  areCarriedOut?: boolean;
  /** Told now and then how many queries have been started. */
  onProgress?: (started: number) => void;
}

export interface MonitoringReport {
  /** Until both runs had ended, and until all queries had. */
  seconds: { runs: number; queries: number };
  kills: number;
  queries: number;
  /** Queries that began in the same minute, at most. */
  inOneMinute: number;
  allowedInOneMinute: number;
  runs: CohortMonitoringStatus[];
  faults: string[];
}

/**
 * Two cohorts, of all patients and of every second one, are monitored at once
 * by their own schedules while the worker is killed: each patient must be asked
 * about once, by one of the two.
 */
export async function runMonitoringRound(
  stack: TestStack,
  {
    patients,
    queriesPerMinute,
    kills,
    timeoutMs,
    areCarriedOut = true,
    onProgress,
  }: MonitoringRound,
): Promise<MonitoringReport> {
  const account = await stack.addAccount();
  const { accountId } = account;
  await stack.rows(
    `update account set settings = jsonb_set(settings, '{limits,networkQueriesPerMinute}', $2::text::jsonb) where id = $1`,
    [accountId, queriesPerMinute],
  );
  await stack.rows(
    `insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
     select gen_random_uuid(), $1, '{Pat}', array['Sample' || n], '1980-01-01', 'F', '[]', '{}'
     from generate_series(1, $2::int) n`,
    [accountId, patients],
  );
  const everybody = await createCohort(stack, account, 'Everybody');
  const half = await createCohort(stack, account, 'Every second one');
  await stack.rows(
    `insert into cohort_member (account_id, cohort_id, patient_id)
     select $1, cohort.id, p.id from (select id, row_number() over (order by id) as n from patient where account_id = $1) p
     join unnest($2::uuid[]) with ordinality as cohort (id, nth) on cohort.nth = 1 or p.n % 2 = 0`,
    [accountId, [everybody, half]],
  );

  const startedAt = Date.now();
  const secondsUntilNow = () => Math.round((Date.now() - startedAt) / 100) / 10;
  const workflowIds = await Promise.all(
    [everybody, half].map((cohortId) => trigger(stack, cohortId)),
  );
  const count = async () => {
    const [row] = await stack.rows<{ n: number }>(
      'select count(*)::int as n from network_query where account_id = $1',
      [accountId],
    );
    onProgress?.(row?.n ?? 0);
    return row?.n ?? 0;
  };
  for (let kill = 1; kill <= kills; kill += 1) {
    const due = Math.floor((patients * kill) / (kills + 1));
    if (
      !(await until(async () => (await count()) >= due, {
        timeoutMs,
        everyMs: 200,
      }))
    )
      throw new Error(`${due} queries were not started in time`);
    await killPart(stack, 'worker');
  }
  const results = workflowIds.map((id) =>
    stack.temporal.workflow
      .getHandle<() => Promise<CohortMonitoringStatus>>(id)
      .result(),
  );
  const progress = setInterval(
    () => void count().catch(() => undefined),
    10_000,
  );
  const runs = await Promise.all(results).finally(() =>
    clearInterval(progress),
  );
  const runsSeconds = secondsUntilNow();
  const ended =
    !areCarriedOut ||
    (await until(async () => (await open(stack, account)) === 0, {
      timeoutMs,
      everyMs: 500,
    }));
  const report = {
    seconds: { runs: runsSeconds, queries: secondsUntilNow() },
    kills,
    queries: await count(),
    inOneMinute: await mostInOneMinute(stack, account),
    allowedInOneMinute: backgroundLimit(queriesPerMinute),
    runs,
  };
  const faults = [
    ...(await faultsOf(stack, account, report, {
      patients,
      ofHalf: Math.floor(patients / 2),
      areCarriedOut,
    })),
    ...(ended ? [] : ['some queries have not ended']),
  ];
  return { ...report, faults };
}

async function createCohort(
  stack: TestStack,
  account: StackAccount,
  name: string,
): Promise<string> {
  const settings = {
    monitoring: { hie: { enabled: true, frequency: 'weekly' } },
  };
  const { status, body } = await callGateway(
    stack.connection,
    account,
    'POST',
    'cohort',
    {
      body: { name, settings },
    },
  );
  if (status !== 200 && status !== 201)
    throw new Error(`create cohort: ${status}`);
  return body.id;
}

/** Has the cohort's own schedule start its run now; the run's workflow id. */
async function trigger(stack: TestStack, cohortId: string): Promise<string> {
  const schedule = stack.temporal.schedule.getHandle(
    cohortMonitoringWorkflowId(cohortId, 'hie'),
  );
  const isThere = async () =>
    (await schedule.describe()).info.nextActionTimes.length > 0;
  if (!(await until(isThere, { timeoutMs: 240_000, everyMs: 100 })))
    throw new Error('there is no schedule');
  await schedule.trigger(ScheduleOverlapPolicy.SKIP);
  let workflowId: string | undefined;
  await until(
    async () => {
      workflowId = (await schedule.describe()).info.recentActions[0]?.action
        .workflow.workflowId;
      return workflowId !== undefined;
    },
    { timeoutMs: 240_000, everyMs: 100 },
  );
  if (workflowId === undefined)
    throw new Error('the schedule has started nothing');
  return workflowId;
}

async function open(
  stack: TestStack,
  { accountId }: StackAccount,
): Promise<number> {
  const [row] = await stack.rows<{ n: number }>(
    `select count(*)::int as n from network_query where account_id = $1 and status = 'running'`,
    [accountId],
  );
  return row?.n ?? 0;
}

async function mostInOneMinute(
  stack: TestStack,
  { accountId }: StackAccount,
): Promise<number> {
  const [row] = await stack.rows<{ n: number }>(
    `select count(*)::int as n from network_query where account_id = $1
     group by date_trunc('minute', started_at) order by n desc limit 1`,
    [accountId],
  );
  return row?.n ?? 0;
}

async function faultsOf(
  stack: TestStack,
  { accountId }: StackAccount,
  { inOneMinute, allowedInOneMinute, runs }: Omit<MonitoringReport, 'faults'>,
  {
    patients,
    ofHalf,
    areCarriedOut,
  }: { patients: number; ofHalf: number; areCarriedOut: boolean },
): Promise<string[]> {
  const faults: string[] = [];
  const notOnce = await stack.rows<{ queries: number; patients: number }>(
    `select queries, count(*)::int as patients from (
       select count(q.id)::int as queries from patient p left join network_query q on q.patient_id = p.id
       where p.account_id = $1 group by p.id
     ) each where queries <> 1 group by queries`,
    [accountId],
  );
  for (const row of notOnce)
    faults.push(`${row.patients} patients have ${row.queries} queries`);
  const badlyEnded = await stack.rows<{ status: string; n: number }>(
    `select status, count(*)::int as n from network_query where account_id = $1 and status <> $2 group by 1`,
    [accountId, areCarriedOut ? 'completed' : 'running'],
  );
  for (const row of badlyEnded)
    faults.push(`${row.n} queries are ${row.status}`);
  const sum = (of: (run: CohortMonitoringStatus) => number) =>
    runs.reduce((total, run) => total + of(run), 0);
  if (sum(({ started }) => started) !== patients)
    faults.push('the runs have not counted every start once');
  if (sum(({ skipped }) => skipped.alreadyAsked) !== ofHalf)
    faults.push(
      'the runs have not counted every patient of both cohorts as skipped once',
    );
  if (sum(({ failed }) => failed) > 0)
    faults.push('the runs have counted failures');
  // A transaction that waited over the end of a minute counts in the next one.
  if (inOneMinute > allowedInOneMinute + 2)
    faults.push(`${inOneMinute} queries in one minute`);
  return faults;
}
