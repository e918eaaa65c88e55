import type { Client } from '@temporalio/client';
import type { NetworkQueryInput } from '../../contract/network-query-workflow.ts';
import { networkQueryWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import type { Store } from '../platform/database/database.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import { markRunStarted, readRun } from './query-store.ts';

export interface Launcher {
  /** Starts the workflow of a committed run, soon and in the background; what fails here `reconcile` starts. */
  launch(accountId: string, requestId: string, run: number): void;
  /** The same, awaited. Starting twice is harmless; `closed` when the workflow has run to its end before. */
  start(accountId: string, requestId: string, run: number): Promise<'open' | 'closed'>;
  /** Resolves when nothing started by `launch` is under way. */
  drain(): Promise<void>;
}

export function createLauncher(deps: { store: Store; temporal: Client; logger: Logger }): Launcher {
  const background = createBackground(deps.logger);

  async function start(accountId: string, requestId: string, run: number): Promise<'open' | 'closed'> {
    const { origin, sources } = await deps.store.asAccount(accountId, (tx) => readRun(tx, requestId, run));
    const input: NetworkQueryInput = { accountId, requestId, run, sources };
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
      summary:
        run === 0 ? `Network query of ${names.join(', ')}` : `Network query: ${names.join(', ')} again`,
      details: STORY,
    });
    await deps.store.asAccount(accountId, (tx) => markRunStarted(tx, requestId, run));
    return state;
  }

  return {
    start,
    launch(accountId, requestId, run) {
      background.run('query not started yet; reconcile will', { requestId, run }, () =>
        start(accountId, requestId, run),
      );
    },
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const STORY = [
  'Collects one patient’s records from the sources, all at the same time.',
  '',
  '1. **askSource** finds the patient at the source and asks for the data; a source that answers at once is collected in the same step.',
  '2. A source that needs time calls back (signal `sourceCallback`); if it does not, a timer asks it (**collectSource**).',
  '3. Each source’s end is written together with its webhook. A failed attempt is tried again after a back-off.',
  '',
  'Steer it with the updates `retrySource`, `giveUpSource` and `cancelQuery`.',
].join('\n');
