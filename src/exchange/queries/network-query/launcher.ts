import { sql } from 'kysely';
import {
  HISTORY_EVENTS_MAX,
  type NetworkQueryInput,
  type SourceSteering,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import {
  networkQueryWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { asCode } from '../../../lib/escape.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import {
  type AccountTx,
  notFlushed,
} from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  createBackground,
  startOnce,
  type WorkflowStart,
} from '../../platform/workflows/start-workflow.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import type { RunSource, RunToStart } from './query-store.ts';
import { SOURCE_RETRIES } from './rules/retries.ts';

export type Launcher = ReturnType<typeof createLauncher>;

export function createLauncher(
  deps: Pick<Platform, 'store' | 'temporal' | 'logger'>,
) {
  const background = createBackground(deps.logger);

  async function start(
    accountId: string,
    requestId: string,
    run: number,
    {
      known,
      ...how
    }: Pick<WorkflowStart, 'replacesRunning' | 'wasSeen'> & {
      known?: RunToStart;
    } = {},
  ): Promise<'open' | 'closed'> {
    const { origin, patientId, sources } =
      known ?? (await readRun(deps.store, accountId, requestId, run));
    const input: NetworkQueryInput = {
      accountId,
      requestId,
      run,
      sources: sources.map(({ source, attempt }) => ({ source, attempt })),
      steering: steeringOf(sources),
      historyEventsMax: HISTORY_EVENTS_MAX,
      showsTroubleOnly: true,
    };
    const names = sources.map(({ source }) => source);
    const state = await startOnce(deps.temporal, {
      type: WORKFLOW_TYPES.networkQuery,
      id: networkQueryWorkflowId(requestId, run),
      input,
      accountId,
      requestId,
      priority:
        origin === 'interactive' ? PRIORITY.interactive : PRIORITY[origin],
      searchAttributes: [{ key: searchAttribute.sources, value: names }],
      summary: `${run === 0 ? 'Network query' : 'Network query, retry'} for ${asCode(patientId)}: ${names.join(', ')}`,
      about: describe(patientId, requestId),
      isOpen: () =>
        deps.store.asAccount(accountId, (tx) =>
          runRows.isOpen(tx, { requestId, run }),
        ),
      ...how,
    });
    await deps.store.callAsAccount(
      accountId,
      sql`select mark_query_run(${accountId}, ${requestId}, ${run}), ${notFlushed}`,
    );
    return state;
  }

  return {
    /**
     * Starts the workflow and waits for the start. Safe to repeat. Returns
     * `closed` when the workflow has already ended.
     *
     * @param wasSeen the workflow was seen before
     */
    start: (
      accountId: string,
      requestId: string,
      run: number,
      wasSeen = false,
    ) => start(accountId, requestId, run, { wasSeen }),
    /** Starts a stuck workflow anew; it goes on from the newest attempts. */
    async replace(
      accountId: string,
      requestId: string,
      run: number,
    ): Promise<void> {
      await start(accountId, requestId, run, { replacesRunning: true });
    },
    /**
     * Starts the workflow of a committed run in the background. When that
     * fails, `reconcile` starts it later.
     *
     * @param known the run, by those who have just written it
     */
    launch(
      accountId: string,
      requestId: string,
      run: number,
      known?: RunToStart,
    ): void {
      background.run(
        'the workflow of a network query could not be started; reconcile starts it later',
        { requestId, run },
        () => start(accountId, requestId, run, { known }),
      );
    },
    /** Resolves when all starts begun by `launch` have finished. */
    drain: () => background.drain(),
  };
}

const NOT_ASKED = { attempt: 1, firstAttempt: 1 };

/**
 * The steering of a run. A source that goes on from a later attempt has used up
 * the back-offs before it.
 */
function steeringOf(
  sources: readonly RunSource[],
): Record<SourceType, SourceSteering> {
  const of = (source: SourceType): SourceSteering => {
    const { deadlineMs, nextAttemptAfterMs } = SOURCE_RETRIES[source];
    const { attempt, firstAttempt } =
      sources.find((own) => own.source === source) ?? NOT_ASKED;
    return {
      deadlineMs,
      nextAttemptAfterMs: nextAttemptAfterMs.slice(attempt - firstAttempt),
    };
  };
  return { hie: of('hie'), pharmacy: of('pharmacy'), lab: of('lab') };
}

/**
 * By ids alone: the history stays when the patient is deleted (decision 200).
 */
const describe = (patientId: string, requestId: string): string =>
  [
    `- Its patient: \`npm run starter -- patients show ${patientId}\``,
    `- This query: \`npm run starter -- status ${requestId}\``,
  ].join('\n');

/** The newest run of a query; `run` is -1 when no source could start. */
export async function latestRun(
  tx: AccountTx,
  queryId: string,
): Promise<{ run: number; endedAt: Date | null }> {
  const row = await tx.db
    .selectFrom('network_query_run')
    .select(['run', 'ended_at'])
    .where('query_id', '=', queryId)
    .orderBy('run', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined
    ? { run: -1, endedAt: new Date(0) }
    : { run: row.run, endedAt: row.ended_at };
}

/**
 * Reads a run (`run_to_start` in 0680-a-run-to-start.sql). A run that a redrive
 * began has the origin `bulk`.
 */
async function readRun(
  store: Pick<Platform['store'], 'callAsAccount'>,
  accountId: string,
  requestId: string,
  run: number,
): Promise<RunToStart> {
  const [found] = await store.callAsAccount(
    accountId,
    sql<RunToStart>`
      select origin, patient_id as "patientId", sources
      from run_to_start(${accountId}, ${requestId}, ${run})`,
  );
  if (found === undefined) throw new Error('There is no such run of a query');
  return found;
}

/** Runs, as rows with a workflow. */
const runRows = workflowRows<{ requestId: string; run: number }>({
  table: 'network_query_run',
  ids: { requestId: 'query_id', run: 'run' },
  since: 'requested_at',
  open: sql`ended_at is null`,
});
export const runsToEnsure = runRows.toEnsure;
