import { setTimeout as sleep } from 'node:timers/promises';
import type {
  WorkflowClient,
  WorkflowClientInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { SEARCH_ATTRIBUTES } from '../../src/contract/temporal.ts';
import { EventType, IndexedValueType } from '../../src/temporal/proto.ts';
import { getTimeSkippingServer } from '../../src/temporal/server-binary.ts';
import { installTestRuntime } from './temporal-runtime.ts';

/**
 * The SDK gives a server five seconds to start, which no setting changes, and
 * kills it then.
 */
const STARTS_MAX = 48;
const TOO_SLOW = /did not start within/;

/**
 * A server of its own with our search attributes, whose clock leaps over waits
 * while a test waits for a result.
 */
export async function startTimeSkippingServer(
  dataConverter: DataConverter,
): Promise<TestWorkflowEnvironment> {
  installTestRuntime();
  const environment = await start(dataConverter);
  // This server can add search attributes, but not list them, which
  // registerSearchAttributes does first.
  await environment.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(
      Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [
        name,
        type === 'Keyword'
          ? IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
          : IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
      ]),
    ),
  });
  return environment;
}

/**
 * On a machine that is busy enough, a server needs longer than the SDK gives
 * it: that says nothing about what is tested.
 */
async function start(
  dataConverter: DataConverter,
): Promise<TestWorkflowEnvironment> {
  const path = await getTimeSkippingServer();
  const rest: { of?: WorkflowClient } = {};
  const interceptors = { workflow: [queryingAtRest(rest)] };
  for (let starts = 1; ; starts++) {
    try {
      const environment = await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
        client: { dataConverter, interceptors },
      });
      rest.of = environment.client.workflow;
      return environment;
    } catch (error) {
      if (starts === STARTS_MAX || !TOO_SLOW.test(String(error))) throw error;
    }
  }
}

const REST_MS = 60_000;
const LOOK_EVERY_MS = 20;

/**
 * Asks a workflow only while none of its tasks is under way. This server never
 * answers some of the queries that arrive meanwhile, and its clock no longer
 * leaps afterwards: beside a load of fourteen, the second query of a workflow's
 * first second did it nearly every time.
 */
const queryingAtRest = (client: {
  of?: WorkflowClient;
}): WorkflowClientInterceptor => ({
  async query(input, next) {
    const { workflowId, runId } = input.workflowExecution;
    const handle = client.of?.getHandle(workflowId ?? '', runId ?? undefined);
    const deadlineAt = Date.now() + REST_MS;
    for (let seen = -1; Date.now() < deadlineAt; await sleep(LOOK_EVERY_MS)) {
      const events = (await handle?.fetchHistory())?.events ?? [];
      if (events.length === seen && !hasTaskUnderWay(events)) break;
      seen = events.length;
    }
    return next(input);
  },
});

const {
  EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: SCHEDULED,
  EVENT_TYPE_WORKFLOW_TASK_STARTED: STARTED,
} = EventType;
const TASK_EVENTS = new Set<unknown>([
  SCHEDULED,
  STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
]);

function hasTaskUnderWay(
  events: ReadonlyArray<{ eventType?: unknown }>,
): boolean {
  const last = events.findLast(({ eventType }) =>
    TASK_EVENTS.has(eventType),
  )?.eventType;
  return last === SCHEDULED || last === STARTED;
}
