import type { Client } from '@temporalio/client';
import {
  HISTORY_EVENTS_MAX,
  type NetworkQueryInput,
  type SourceSteering,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { networkQueryWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import { asCode } from '../../../lib/escape.ts';
import type { Logger } from '../../../lib/logger.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { Store } from '../../platform/database/database.ts';
import { createBackground, startOnce } from '../../platform/workflows/start-workflow.ts';
import { SOURCE_RETRIES } from './rules/retries.ts';
import { type QuerySubject, type RunSource, readRun, runRows } from './run-store.ts';

export interface Launcher {
  /** Starts the workflow of a committed run in the background. When that fails, `reconcile` starts it later. */
  launch(accountId: string, requestId: string, run: number): void;
  /** Starts the workflow and waits for the start. Safe to repeat. Returns `closed` when the workflow has already ended. */
  start(accountId: string, requestId: string, run: number): Promise<'open' | 'closed'>;
  /** Starts a stuck workflow anew; it goes on from the newest attempts. */
  replace(accountId: string, requestId: string, run: number): Promise<void>;
  /** Resolves when all starts begun by `launch` have finished. */
  drain(): Promise<void>;
}

export function createLauncher(deps: { store: Store; temporal: Client; logger: Logger }): Launcher {
  const background = createBackground(deps.logger);

  async function start(
    accountId: string,
    requestId: string,
    run: number,
    replacesRunning = false,
  ): Promise<'open' | 'closed'> {
    const { origin, subject, sources } = await deps.store.asAccount(accountId, (tx) =>
      readRun(tx, requestId, run),
    );
    const input: NetworkQueryInput = {
      accountId,
      requestId,
      run,
      sources: sources.map(({ source, attempt }) => ({ source, attempt })),
      steering: steeringOf(sources),
      historyEventsMax: HISTORY_EVENTS_MAX,
    };
    const names = sources.map(({ source }) => source);
    const state = await startOnce(deps.temporal, {
      type: WORKFLOW_TYPES.networkQuery,
      id: networkQueryWorkflowId(requestId, run),
      input,
      accountId,
      requestId,
      priority: origin === 'interactive' ? PRIORITY.interactive : PRIORITY[origin],
      searchAttributes: [
        { key: searchAttribute.sources, value: names },
        { key: searchAttribute.queryStatus, value: 'running' },
      ],
      summary: `${run === 0 ? 'Network query' : 'Network query, retry'} for ${referenceOf(subject)}: ${names.join(', ')}`,
      details: `${describe(subject, requestId)}\n\n${WORKFLOW_DETAILS}`,
      isOpen: () => deps.store.asAccount(accountId, (tx) => runRows.isOpen(tx, { requestId, run })),
      replacesRunning,
    });
    await deps.store.asAccount(accountId, (tx) => runRows.markSeen(tx, { requestId, run }));
    return state;
  }

  return {
    start: (accountId, requestId, run) => start(accountId, requestId, run),
    async replace(accountId, requestId, run) {
      await start(accountId, requestId, run, true);
    },
    launch(accountId, requestId, run) {
      background.run(
        'the workflow of a network query could not be started; reconcile starts it later',
        { requestId, run },
        () => start(accountId, requestId, run),
      );
    },
    drain: () => background.drain(),
  };
}

const NOT_ASKED = { attempt: 1, firstAttempt: 1 };

/** The steering of a run. A source that goes on from a later attempt has used up the back-offs before it. */
function steeringOf(sources: readonly RunSource[]): Record<SourceType, SourceSteering> {
  const of = (source: SourceType): SourceSteering => {
    const { deadlineMs, nextAttemptAfterMs } = SOURCE_RETRIES[source];
    const { attempt, firstAttempt } = sources.find((own) => own.source === source) ?? NOT_ASKED;
    return { deadlineMs, nextAttemptAfterMs: nextAttemptAfterMs.slice(attempt - firstAttempt) };
  };
  return { hie: of('hie'), pharmacy: of('pharmacy'), lab: of('lab') };
}

/** The caller's own id of the patient; ours if the caller gave none. */
const referenceOf = ({ externalId, patientId }: QuerySubject): string => asCode(externalId ?? patientId);

const describe = (subject: QuerySubject, requestId: string): string =>
  [
    `Patient ${referenceOf(subject)}: \`npm run starter -- patients show ${subject.patientId}\``,
    ...(subject.cohorts.length === 0 ? [] : [`Cohorts: ${subject.cohorts.map(asCode).join(', ')}`]),
    `This query: \`npm run starter -- status ${requestId}\``,
  ]
    .map((line) => `- ${line}`)
    .join('\n');

/** Shown on the workflow's page in the Temporal UI, after whom it is about. */
const WORKFLOW_DETAILS = [
  'Collects one patient’s records from several sources in parallel.',
  '',
  '1. **askSource** finds the patient at the source and requests the data. Data that is available at once is collected in the same step.',
  '2. A source that needs time calls back (signal `sourceCallback`). Without a callback, a timer polls it (**collectSource**).',
  '3. Each source’s end is committed together with its webhook event. A failed attempt is retried after a back-off.',
  '',
  'Control it with the updates `retrySource`, `giveUpSource` and `cancelQuery`.',
].join('\n');
