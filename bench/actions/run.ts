import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { request } from 'undici';
import {
  cohortMonitoringWorkflowId,
  RECONCILE_WORKFLOW_ID,
} from '../../src/contract/temporal.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { accountAccess } from '../../src/orchestrator/client/credentials.ts';
import { startOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { sampleOf } from '../../test/faults/kill/workload.ts';
import { hasEnded, putCsv } from '../../test/support/bulk-create.ts';
import { startTestStack, type TestStack } from '../../test/support/stack.ts';
import { generateCsv } from '../bulk/generate.ts';
import {
  type CarefulCaller,
  createCarefulCaller,
  hasQueryEnded,
} from '../soak/mixed/careful-caller.ts';
import { type Actions, add, countActions, noActions } from './count-actions.ts';

export interface ActionsBenchOptions {
  /** Rows of the imports; the queries of the smallest one run to their end. */
  rows: number[];
  /** Patients of the monitored cohort. */
  monitored: number;
}

export interface Measured {
  name: string;
  /** Number of workflow runs by type. */
  runs: Record<string, number>;
  actions: Record<string, Actions>;
  /** Heartbeats that reached the server, of all workflows together. */
  heartbeats: number;
}

const SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};
const END_TIMEOUT_MS = 30 * 60_000;

/**
 * Counts the billed actions of the main jobs from the histories that a whole
 * stack leaves.
 */
export async function benchActions(
  { rows, monitored }: ActionsBenchOptions,
  report: (measured: Measured) => void,
): Promise<Measured[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-actions-'));
  const metrics = `127.0.0.1:${await freePort()}`;
  const stack = await startTestStack({
    dataDir,
    // One worker, so that one address has the metrics of all activities.
    environment: {
      worker: { WORKER_QUEUES: 'all', WORKER_TEMPORAL_METRICS: metrics },
    },
  });
  const results: Measured[] = [];
  const measure = async (
    name: string,
    job: (caller: CarefulCaller) => Promise<unknown>,
  ) => {
    const caller = createCarefulCaller(
      stack,
      await stack.addAccount(),
      Date.now() + END_TIMEOUT_MS,
    );
    const since = new Date();
    const before = await heartbeatsAt(metrics);
    await job(caller);
    const heartbeats = (await heartbeatsAt(metrics)) - before;
    const measured = { name, heartbeats, ...(await countSince(stack, since)) };
    results.push(measured);
    report(measured);
  };
  try {
    await measure('query of three sources', async (caller) => {
      const { id } = await create(caller, 'keith-kiehn');
      await query(caller, id);
    });
    await measure('query of the hie alone', async (caller) => {
      const { id } = await create(caller, 'keith-kiehn');
      await query(caller, id, { hie: { enabled: true } });
    });
    await measure('onboarding', async ({ account }) => {
      const patient = sampleOf('adan-fuentes').createBody;
      const { handle } = await startOnboarding(
        stack.temporal,
        {
          jobId: 'bench',
          facilityId: account.facilityId,
          patient,
          sources: SOURCES,
        },
        {
          exchange: accountAccess(account.accountId),
          idHmacKey: stack.secrets.idHmacKey,
        },
      );
      await handle.result();
    });
    await measure(`monthly round over ${monitored} patients`, (caller) =>
      monitor(stack, caller, monitored),
    );
    const smallest = Math.min(...rows);
    for (const [index, count] of rows.entries())
      await measure(
        `import of ${count} rows${count === smallest ? ' with the queries of its patients' : ''}`,
        async (caller) => {
          const csvFile = join(dataDir, `panel-${index}.csv`);
          await writeFile(
            csvFile,
            generateCsv({ rows: count, seed: index + 1 }),
          );
          await importFile(caller, csvFile, {
            withQueries: count === smallest,
          });
        },
      );
    const reconciled = await countReconcile(stack);
    results.push(reconciled);
    report(reconciled);
    return results;
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const create = async (
  caller: CarefulCaller,
  key: string,
): Promise<{ id: string }> =>
  (
    await caller.post(
      `patient?facilityId=${caller.account.facilityId}`,
      sampleOf(key).createBody,
    )
  ).answer.body;

async function query(
  caller: CarefulCaller,
  patientId: string,
  sources: object = SOURCES,
): Promise<void> {
  const { answer } = await caller.post(`network/query?patientId=${patientId}`, {
    sources,
  });
  await caller.getUntil(
    `network/query/${answer.body.requestId}`,
    hasQueryEnded,
  );
}

/**
 * One round of the hie over a cohort, started by its Schedule, until its
 * queries have ended.
 */
async function monitor(
  stack: TestStack,
  caller: CarefulCaller,
  patients: number,
): Promise<void> {
  const { accountId } = caller.account;
  await stack.rows(
    `insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
     select gen_random_uuid(), $1, '{Pat}', array['Sample' || n], '1980-01-01', 'F', '[]', '{}'
     from generate_series(1, $2::int) n`,
    [accountId, patients],
  );
  const settings = {
    monitoring: { hie: { enabled: true, frequency: 'monthly' } },
  };
  const cohort = await caller.post('cohort', { name: 'Monitored', settings });
  const cohortId = cohort.answer.body.id as string;
  await stack.rows(
    'insert into cohort_member (account_id, cohort_id, patient_id) select $1, $2, id from patient where account_id = $1',
    [accountId, cohortId],
  );
  const schedule = stack.temporal.schedule.getHandle(
    cohortMonitoringWorkflowId(cohortId, 'hie'),
  );
  const firstRun = async () => {
    const described = await schedule.describe().catch(() => undefined);
    return described?.info.recentActions[0]?.action.workflow.workflowId;
  };
  let workflowId = await firstRun();
  for (; workflowId === undefined; workflowId = await firstRun()) {
    await schedule.trigger(ScheduleOverlapPolicy.SKIP).catch(() => undefined);
    await sleep(500);
  }
  await stack.temporal.workflow.getHandle(workflowId).result();
  await untilNothingRuns(stack);
}

async function importFile(
  caller: CarefulCaller,
  csvFile: string,
  { withQueries }: { withQueries: boolean },
): Promise<void> {
  const { answer } = await caller.post(
    `patient/bulk?facilityId=${caller.account.facilityId}`,
  );
  const path = `patient/bulk/${answer.body.requestId}`;
  await putCsv(caller.account, answer.body.uploadUrl, csvFile);
  await caller.getUntil(path, hasEnded);
  const status = await caller.getUntil(
    path,
    ({ sweep }) => sweep !== undefined,
  );
  if (status.status !== 'completed')
    throw new Error(`The import ended as ${status.status}`);
  if (!withQueries) await caller.steer(`${path}/sweep/cancel`);
  await caller.getUntil(
    path,
    ({ sweep }) => sweep?.state !== 'running' && sweep?.open === 0,
  );
}

const isRunning = `ExecutionStatus = "Running" and WorkflowType != "reconcileLoop"`;

async function untilNothingRuns({ temporal }: TestStack): Promise<void> {
  while ((await temporal.workflow.count(isRunning)).count > 0) await sleep(500);
}

/**
 * By workflow type, all runs that began since; `reconcile` runs all the time
 * and is not part of a job.
 */
async function countSince(
  { temporal }: TestStack,
  since: Date,
): Promise<Pick<Measured, 'runs' | 'actions'>> {
  // Listings may lack what has just happened.
  await sleep(3_000);
  const runs: Record<string, number> = {};
  const actions: Record<string, Actions> = {};
  for await (const { workflowId, runId, type } of temporal.workflow.list({
    query: `StartTime >= "${since.toISOString()}"`,
  })) {
    if (workflowId === RECONCILE_WORKFLOW_ID) continue;
    const history = await temporal.workflow
      .getHandle(workflowId, runId)
      .fetchHistory();
    runs[type] = (runs[type] ?? 0) + 1;
    actions[type] = add(actions[type] ?? noActions(), countActions(history));
  }
  return { runs, actions };
}

/**
 * The workflow that runs all the time: what its rounds since the start of the
 * stack took.
 */
async function countReconcile({ temporal }: TestStack): Promise<Measured> {
  const history = await temporal.workflow
    .getHandle(RECONCILE_WORKFLOW_ID)
    .fetchHistory();
  const actions = countActions(history);
  const name = `${actions.activities} rounds of reconcile`;
  return {
    name,
    runs: { reconcileLoop: 1 },
    actions: { reconcileLoop: actions },
    heartbeats: 0,
  };
}

/** Heartbeats that the worker has sent, by the metrics of its SDK. */
async function heartbeatsAt(address: string): Promise<number> {
  const answer = await request(`http://${address}/metrics`);
  const text = await answer.body.text();
  const counts = text.matchAll(
    /^temporal_request(?:_total)?\{[^}]*operation="RecordActivityTaskHeartbeat"[^}]*\} (\d+)/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
