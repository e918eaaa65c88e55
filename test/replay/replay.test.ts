import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, test } from 'vitest';
import { WORKFLOW_TYPES } from '../../src/contract/temporal.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { History } from '../../src/temporal/proto.ts';
import { traceHeader } from '../../src/temporal/tracing/trace-header.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { loadHistories, type RecordedHistory } from './histories.ts';

const histories = await loadHistories();
const BROKEN = fileURLToPath(new URL('./broken-workflows.ts', import.meta.url));
const CHANGED_CONSTANTS = fileURLToPath(
  new URL('./changed-constants.ts', import.meta.url),
);

/**
 * The failure of each history under this bundle, by its run id; undefined where
 * it replays.
 */
async function replay(
  bundle: { code: string },
  runs: readonly RecordedHistory[] = histories,
): Promise<Map<string, Error | undefined>> {
  const failures = new Map<string, Error | undefined>();
  const options = {
    workflowBundle: bundle,
    dataConverter: createDataConverter(testKeyRing()),
  };
  for await (const { runId, error } of Worker.runReplayHistories(options, runs))
    failures.set(runId, error);
  return failures;
}

/** The same run, started in a trace. */
function inTrace(recorded: RecordedHistory): RecordedHistory {
  const history = History.fromObject(
    History.toObject(History.fromObject(recorded.history)),
  );
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const fields = traceHeader(
    `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    defaultPayloadConverter,
  );
  if (started != null) started.header = { fields };
  return { ...recorded, history };
}

describe('recorded runs', () => {
  let today: Map<string, Error | undefined>;
  let broken: Map<string, Error | undefined>;
  let changed: Map<string, Error | undefined>;
  let traced: Map<string, Error | undefined>;
  beforeAll(async () => {
    installTestRuntime();
    today = await replay(await workflowBundle());
    traced = await replay(await workflowBundle(), histories.map(inTrace));
    broken = await replay(await loadWorkflowBundle(BROKEN));
    changed = await replay(await loadWorkflowBundle(CHANGED_CONSTANTS));
  });

  test.each(Object.values(WORKFLOW_TYPES))(
    'there is one of %s',
    (workflowType) => {
      expect(histories.map((history) => history.workflowType)).toContain(
        workflowType,
      );
    },
  );

  test.each(histories)('$name goes on under the code of today', ({ runId }) => {
    expect([...today.keys()]).toContain(runId);
    expect(today.get(runId)).toBeUndefined();
  });

  test.each(histories)(
    '$name goes on after every default has been changed',
    ({ runId }) => {
      expect([...changed.keys()]).toContain(runId);
      expect(changed.get(runId)).toBeUndefined();
    },
  );

  test.each(histories)(
    '$name goes on in the same way in a trace',
    ({ runId }) => {
      expect([...traced.keys()]).toContain(runId);
      expect(traced.get(runId)).toBeUndefined();
    },
  );

  test.each(histories)(
    '$name is refused by a workflow with one step more',
    ({ runId }) => {
      expect(broken.get(runId)).toBeInstanceOf(DeterminismViolationError);
    },
  );
});
