import { ApplicationFailure } from '@temporalio/common';
import type {
  RecordActivities,
  SourceActivities,
} from '../../../src/activities/exchange/network-query.ts';
import {
  HISTORY_EVENTS_MAX,
  NETWORK_QUERY_MESSAGES,
  type NetworkQueryInput,
  SOURCE_FAILURE_TYPES,
  type SourceStep,
} from '../../../src/contract/network-query-workflow.ts';
import { SOURCE_TYPES } from '../../../src/contract/primitives.ts';
import {
  networkQueryWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { SOURCE_RETRIES } from '../../../src/exchange/queries/network-query/rules/retries.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const input: NetworkQueryInput = {
  accountId: ACCOUNT_ID,
  requestId: REQUEST_ID,
  run: 0,
  sources: SOURCE_TYPES.map((source) => ({ source, attempt: 1 })),
  steering: SOURCE_RETRIES,
  historyEventsMax: HISTORY_EVENTS_MAX,
};
const withDeadline = (deadlineMs: number): NetworkQueryInput['steering'] => ({
  hie: { deadlineMs, nextAttemptAfterMs: [] },
  pharmacy: { deadlineMs, nextAttemptAfterMs: [] },
  lab: { deadlineMs, nextAttemptAfterMs: [] },
});
const base = {
  workflowType: WORKFLOW_TYPES.networkQuery,
  workflowId: networkQueryWorkflowId(REQUEST_ID),
  args: [input],
};
const completed: SourceStep = { state: 'completed', resources: 12 };
const waiting: SourceStep = { state: 'waiting' };
const held: SourceStep = {
  state: 'waiting',
  retryAfterMs: 2_000,
  held: {
    reason: 'lab answered 401 to the token request',
    nextTryAt: '2026-11-22T10:15:00.000Z',
  },
};
const soonAgain: SourceStep = { state: 'waiting', retryAfterMs: 1_000 };
const pending = (nextRetryDelay: number) =>
  ApplicationFailure.create({
    type: SOURCE_FAILURE_TYPES.pending,
    message: 'The source has no answer yet',
    details: [{ state: 'waiting' }],
    nextRetryDelay,
  });
const failure = (type: string) =>
  ApplicationFailure.nonRetryable('The source did not do it', type);

const source = (activities: Partial<SourceActivities>) => activities;
const record: Partial<RecordActivities> = {
  recordFailedAttempt: async () => undefined,
  openNextAttempt: async ({ attempt }) => ({ attempt }),
};
const callBack = (name: (typeof SOURCE_TYPES)[number]) => [
  { source: name, attempt: 1 },
];

export const networkQueryScenarios: Record<string, Scenario> = {
  /** A query that completes upserts nothing. */
  'network-query/all-sources-at-once-v2': {
    ...base,
    args: [{ ...input, showsTroubleOnly: true }],
    activities: {
      exchange: record,
      'source-hie': source({ askSource: inTurn(completed) }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({ askSource: inTurn(completed) }),
    },
  },
  /** hie chooses gateways, asks them in their own queue, and is told of a later answer. */
  'network-query/gateways-of-a-network-v1': {
    ...base,
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn<SourceStep>({ state: 'ready', asksGateways: true }),
      }),
      networks: source({
        collectSource: inTurn<SourceStep>(
          {
            state: 'waiting',
            retryAfterMs: 300_000,
            asksGateways: true,
            hasEndedPart: true,
          },
          { ...waiting, retryAfterMs: 1_000, asksGateways: true },
          completed,
        ),
      }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({ askSource: inTurn(completed) }),
    },
    async meanwhile(handle) {
      await eventually(() => stateIs(handle, 'hie', 'waiting'));
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('hie'),
      );
    },
  },
  'network-query/all-sources-at-once-v1': {
    ...base,
    activities: {
      exchange: record,
      'source-hie': source({ askSource: inTurn(completed) }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({ askSource: inTurn(completed) }),
    },
  },
  'network-query/in-background-lane-v1': {
    ...base,
    activities: {
      'background-exchange': record,
      'background-source-hie': source({ askSource: inTurn(completed) }),
      'background-source-pharmacy': source({ askSource: inTurn(completed) }),
      'background-source-lab': source({
        askSource: inTurn<SourceStep>(failure(SOURCE_FAILURE_TYPES.refused)),
      }),
    },
  },
  /**
   * hie is waited for and calls back; pharmacy fails and does better; lab
   * refuses and is tried again by hand.
   */
  'network-query/callback-further-attempt-retry-v1': {
    ...base,
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn(waiting),
        collectSource: inTurn<SourceStep>(waiting, completed),
      }),
      'source-pharmacy': source({
        askSource: inTurn<SourceStep>(
          failure(SOURCE_FAILURE_TYPES.jobFailed),
          completed,
        ),
      }),
      'source-lab': source({
        askSource: inTurn<SourceStep>(
          failure(SOURCE_FAILURE_TYPES.refused),
          completed,
        ),
      }),
    },
    async meanwhile(handle) {
      await eventually(() =>
        handle.executeUpdate(NETWORK_QUERY_MESSAGES.retrySource, {
          args: [{ source: 'lab' }],
        }),
      );
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('hie'),
      );
      await eventually(() => stateIs(handle, 'pharmacy', 'completed'));
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('hie'),
      );
    },
  },
  /**
   * lab is away and is waited for; hie calls back before its data is ready, and
   * again.
   */
  'network-query/held-and-early-callback-v1': {
    ...base,
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn(waiting),
        collectSource: inTurn<SourceStep>(waiting, completed),
      }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({
        askSource: inTurn<SourceStep>(held),
        collectSource: inTurn<SourceStep>(held, completed),
      }),
    },
    async meanwhile(handle) {
      await eventually(() => stateIs(handle, 'hie', 'waiting'));
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('hie'),
      );
      await eventually(() => stateIs(handle, 'lab', 'completed'));
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('hie'),
      );
    },
  },
  /**
   * All deadlines pass in seconds. Before it gives up, the workflow collects
   * once more: hie has its data then, pharmacy was away all the time, and lab
   * still has nothing.
   */
  'network-query/collected-after-deadline-v1': {
    ...base,
    args: [{ ...input, steering: withDeadline(1_500) }],
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn(waiting),
        collectSource: inTurn(completed),
      }),
      'source-pharmacy': source({
        askSource: inTurn<SourceStep>(new Error('our database is away')),
        collectSource: inTurn(completed),
      }),
      'source-lab': source({
        askSource: inTurn<SourceStep>(held),
        collectSource: inTurn<SourceStep>(held),
      }),
    },
  },
  /**
   * hie calls back too early, again and again; lab is waited for. The run that
   * continues as new.
   */
  'network-query/long-history-v1': { ...chatty(), recordsFirstRun: true },
  /** The run after it. */
  'network-query/continued-as-new-v1': chatty(),
  /**
   * After the first wait in vain, each source is looked at by retries: hie until
   * it is ready, lab until it calls back, pharmacy until no further look fits in
   * before its deadline.
   */
  'network-query/looked-at-by-retries-v1': {
    ...base,
    args: [
      {
        ...input,
        steering: {
          ...SOURCE_RETRIES,
          pharmacy: { deadlineMs: 4_000, nextAttemptAfterMs: [] },
        },
      },
    ],
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn(soonAgain),
        collectSource: inTurn<SourceStep>(soonAgain, completed),
        awaitSource: inTurn<SourceStep>(pending(200), pending(200), {
          state: 'ready',
        }),
      }),
      'source-pharmacy': source({
        askSource: inTurn(soonAgain),
        collectSource: inTurn<SourceStep>(soonAgain, completed),
        awaitSource: inTurn<SourceStep>(pending(60_000)),
      }),
      'source-lab': source({
        askSource: inTurn(soonAgain),
        collectSource: inTurn<SourceStep>(soonAgain, completed),
        awaitSource: inTurn<SourceStep>(pending(60_000)),
      }),
    },
    async meanwhile(handle) {
      await eventually(() => stateIs(handle, 'pharmacy', 'completed'));
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('lab'),
      );
    },
  },
  'network-query/given-up-and-cancelled-v1': {
    ...base,
    activities: {
      exchange: record,
      'source-hie': source({ askSource: inTurn(waiting) }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({ askSource: inTurn(waiting) }),
    },
    async meanwhile(handle) {
      await eventually(() => stateIs(handle, 'lab', 'waiting'));
      await handle.executeUpdate(NETWORK_QUERY_MESSAGES.giveUpSource, {
        args: [{ source: 'lab' }],
      });
      await handle.executeUpdate(NETWORK_QUERY_MESSAGES.cancelQuery);
    },
  },
};

function chatty(): Scenario {
  return {
    ...base,
    args: [{ ...input, historyEventsMax: 60 }],
    activities: {
      exchange: record,
      'source-hie': source({
        askSource: inTurn(waiting),
        collectSource: inTurn<SourceStep>(waiting, completed),
      }),
      'source-pharmacy': source({ askSource: inTurn(completed) }),
      'source-lab': source({
        askSource: inTurn(waiting),
        collectSource: inTurn(completed),
      }),
    },
    async meanwhile(handle) {
      await eventually(() => stateIs(handle, 'lab', 'waiting'));
      const { runId } = await handle.describe();
      await eventually(async () => {
        await handle.signal(
          NETWORK_QUERY_MESSAGES.sourceCallback,
          ...callBack('hie'),
        );
        if ((await handle.describe()).runId === runId)
          throw new Error('the first run goes on');
      });
      await handle.signal(
        NETWORK_QUERY_MESSAGES.sourceCallback,
        ...callBack('lab'),
      );
    },
  };
}

async function stateIs(
  handle: Parameters<NonNullable<Scenario['meanwhile']>>[0],
  name: string,
  state: string,
) {
  const { sources } = await handle.query<{
    sources: { source: string; state: string }[];
  }>(NETWORK_QUERY_MESSAGES.status);
  if (!sources.some((entry) => entry.source === name && entry.state === state))
    throw new Error(`${name} is not ${state}`);
}

async function eventually(attempt: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
