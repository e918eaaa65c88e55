import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  Client,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { TASK_QUEUES } from '../../src/contract/temporal.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { WORKFLOW_QUEUES } from '../../src/temporal/task-queues.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { startTestTemporalServer } from '../support/temporal-server.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { saveHistory } from './save-history.ts';
import { bulkExportScenarios } from './scenarios/bulk-export.ts';
import { bulkOnboardingScenarios } from './scenarios/bulk-onboarding.ts';
import { bulkPatientCreateScenarios } from './scenarios/bulk-patient-create.ts';
import { cohortMonitoringScenarios } from './scenarios/cohort-monitoring.ts';
import { consolidatedQueryScenarios } from './scenarios/consolidated-query.ts';
import { deferredDiscoveryScenarios } from './scenarios/deferred-discovery.ts';
import { directMailboxScenarios } from './scenarios/direct-mailbox.ts';
import { directoryRefreshScenarios } from './scenarios/directory-refresh.ts';
import { dischargeFollowUpScenarios } from './scenarios/discharge-follow-up.ts';
import { messageTransmissionScenarios } from './scenarios/message-transmission.ts';
import { networkQueryScenarios } from './scenarios/network-query.ts';
import { patientOnboardingScenarios } from './scenarios/patient-onboarding.ts';
import { queryRedriveScenarios } from './scenarios/query-redrive.ts';
import { querySweepScenarios } from './scenarios/query-sweep.ts';
import { recordArrivalsScenarios } from './scenarios/record-arrivals.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { trustBundleRefreshScenarios } from './scenarios/trust-bundle-refresh.ts';
import { webhookAndReconcileScenarios } from './scenarios/webhooks-and-reconcile.ts';

/**
 * Records histories for the replay test; never over an existing one.
 *
 * node test/replay/record.ts <name> … runs scenarios of ./scenarios ("all":
 * those not yet recorded)
 *
 * Histories of real runs are replayed where they are (`npm run replay --
 * --open`), and never become files.
 */
const scenarios: Record<string, Scenario> = {
  ...networkQueryScenarios,
  ...dischargeFollowUpScenarios,
  ...bulkPatientCreateScenarios,
  ...bulkExportScenarios,
  ...consolidatedQueryScenarios,
  ...deferredDiscoveryScenarios,
  ...messageTransmissionScenarios,
  ...webhookAndReconcileScenarios,
  ...recordArrivalsScenarios,
  ...directMailboxScenarios,
  ...directoryRefreshScenarios,
  ...trustBundleRefreshScenarios,
  ...querySweepScenarios,
  ...queryRedriveScenarios,
  ...cohortMonitoringScenarios,
  ...patientOnboardingScenarios,
  ...bulkOnboardingScenarios,
};

const [first, ...rest] = process.argv.slice(2);
if (first === undefined)
  fail(`Name a scenario:\n  ${Object.keys(scenarios).join('\n  ')}\n  all`);
else
  await recordScenarios(
    first === 'all' ? Object.keys(scenarios) : [first, ...rest],
    first === 'all',
  );

async function recordScenarios(
  names: string[],
  skipExisting: boolean,
): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const folder = await mkdtemp(join(tmpdir(), 'record-'));
  const server = await startTestTemporalServer(folder);
  const connection = await openConnection({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  const client = new Client({
    connection,
    dataConverter: createDataConverter(testKeyRing()),
  });
  try {
    for (const name of names) {
      const scenario = scenarios[name];
      if (scenario === undefined)
        throw new Error(`There is no scenario ${name}`);
      const firstRunId = await run(client, native, scenario);
      const runId = scenario.recordsFirstRun === true ? firstRunId : undefined;
      const saved = saveHistory(
        client,
        { workflowId: scenario.workflowId, runId },
        name,
      );
      console.log(
        await saved.catch((error: unknown) =>
          skipped(name, error, skipExisting),
        ),
      );
    }
  } finally {
    await Promise.all([connection.close(), native.close()]);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(
  client: Client,
  connection: NativeConnection,
  scenario: Scenario,
): Promise<string> {
  const { workflowType, workflowId, args, activities } = scenario;
  const workers = await createWorkers({
    connection,
    namespace: 'default',
    dataConverter: createDataConverter(testKeyRing()),
    workflowBundle: await workflowBundle(),
    // Both hosts of workflows run, whatever the scenario's activities.
    activities: {
      exchange: { none: () => undefined },
      orchestrator: { none: () => undefined },
      ...activities,
    },
  });
  const running = workers.map((worker) => worker.run());
  // The one host of workflows that a scenario names besides `exchange`, if it
  // names one.
  const taskQueue =
    scenario.taskQueue ??
    WORKFLOW_QUEUES.find(
      (queue) => queue !== TASK_QUEUES.exchange && activities[queue],
    ) ??
    TASK_QUEUES.exchange;
  const handle: WorkflowHandleWithFirstExecutionRunId =
    await client.workflow.start(workflowType, {
      taskQueue,
      workflowId,
      args,
    });
  await scenario.meanwhile?.(handle);
  const ended = handle.result().catch(() => undefined);
  const isEnded = await Promise.race([
    ended.then(() => true),
    setTimeout(60_000, false, { ref: false }),
  ]);
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  if (!isEnded)
    throw new Error(
      `${workflowId} did not end: does the scenario provide every step that it takes?`,
    );
  return handle.firstExecutionRunId;
}

function skipped(name: string, error: unknown, skipExisting: boolean): string {
  if (
    skipExisting &&
    error instanceof Error &&
    'code' in error &&
    error.code === 'EEXIST'
  )
    return `${name} is there already`;
  throw error;
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
