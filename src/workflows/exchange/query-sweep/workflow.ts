import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  defineQuery,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { SweepActivities } from '../../../activities/exchange/query-sweep.ts';
import {
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepInput,
  type QuerySweepProgress,
  type SweepPace,
} from '../../../contract/bulk-create-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { rejected } from '../../shared/failures.ts';
import { continueWithCurrentBuild } from '../../shared/own-run.ts';
import {
  backOff,
  Gate,
  type PageDone,
  workInPages,
} from '../../shared/work-in-pages.ts';

/**
 * Starts a query for each patient of a bulk create.
 *
 * Durable because 100,000 queries within a source's limit take a day. Keyed by
 * the bulk create's request id. PostgreSQL records which patients' queries have
 * been started, in the same transaction as the query; so every step may run
 * twice, and a new run continues where an interrupted one stopped. History:
 * about 11 events per page; continues as new after 200 pages.
 */
export async function querySweep(
  input: QuerySweepInput,
  carried?: QuerySweepProgress,
): Promise<QuerySweepProgress> {
  const { pace } = input;
  const gate = new Gate(carried?.state === 'paused');
  const sweep = new Sweep(input, pace, gate, carried);

  setHandler(
    defineQuery<QuerySweepProgress>(MESSAGES.status),
    () => sweep.progress,
  );
  setHandler(defineUpdate<void, []>(MESSAGES.pause), () => sweep.pause(), {
    validator: () => {
      mustBeActive(sweep);
      if (gate.isPaused) throw rejected('The sweep is already paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.resume), () => sweep.resume(), {
    validator: () => {
      mustBeActive(sweep);
      // A workflow that was started again does not know yet whether the sweep
      // is paused.
      if (sweep.hasBegun && !gate.isPaused)
        throw rejected('The sweep is not paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.cancel), () => sweep.cancel(), {
    validator: () => mustBeActive(sweep),
  });

  try {
    if (carried === undefined) await sweep.begin();
    await workInPages({
      gate,
      pagesPerRun: pace.pagesPerRun,
      nextPage: () => sweep.nextPage(),
      continueAsNew: () =>
        continueWithCurrentBuild<typeof querySweep>(input, sweep.progress),
    });
    await condition(allHandlersFinished);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => sweep.cancel());
    throw new CancelledFailure('Cancelled by an operator');
  }
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: sweep.progress.state },
  ]);
  return sweep.progress;
}

function mustBeActive(sweep: Sweep): void {
  if (sweep.hasEnded)
    throw rejected(`The sweep has already ended (${sweep.progress.state})`);
}

/** First and longest wait before checking a full window again. */
const WINDOW_FIRST_MS = 1_000;
const WINDOW_MAX_MS = 30_000;

/** Retried until they succeed: PostgreSQL may be down for a while. */
const activities = (summary: string) =>
  proxyActivities<SweepActivities>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '1 minute',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary,
  });

/**
 * The progress and the steps of one sweep; the workflow connects it to its
 * handlers.
 */
class Sweep {
  progress: QuerySweepProgress;
  /** Whether the sweep's row has been read, by this run or the one before. */
  hasBegun: boolean;
  #checksWithoutChange = 0;
  readonly input: QuerySweepInput;
  readonly pace: SweepPace;
  readonly gate: Gate;

  constructor(
    input: QuerySweepInput,
    pace: SweepPace,
    gate: Gate,
    carried?: QuerySweepProgress,
  ) {
    this.input = input;
    this.pace = pace;
    this.gate = gate;

    const { requestId } = input;
    this.progress = carried ?? {
      requestId,
      state: 'running',
      patients: 0,
      started: 0,
      skipped: 0,
      failed: 0,
      open: 0,
    };
    this.hasBegun = carried !== undefined;
    if (carried !== undefined) this.#show(carried);
  }

  get hasEnded(): boolean {
    return (
      this.progress.state === 'completed' || this.progress.state === 'cancelled'
    );
  }

  /**
   * Reads the sweep's row, and with it what an earlier workflow of this sweep
   * may have done.
   */
  async begin(): Promise<void> {
    const { beginSweep } = activities('Count the patients');
    const found = await beginSweep(this.input);
    if (found === undefined) {
      this.gate.stop();
      this.#show({ ...this.progress, state: 'completed' });
      this.hasBegun = true;
      return;
    }
    this.#show(found);
    if (found.state === 'paused') this.gate.pause();
    if (this.hasEnded) this.gate.stop();
    this.hasBegun = true;
  }

  async nextPage(): Promise<PageDone> {
    const { startSweepPage } = activities(
      'Start queries for the next patients',
    );
    const before = this.progress;
    const page = await startSweepPage({ ...this.input, pace: this.pace });
    // Without a page, the bulk create and its sweep have been deleted.
    this.#show(page?.progress ?? { ...before, state: 'cancelled' });
    if (page === undefined) return { isLast: true, uses: [] };
    if (this.hasEnded) return { isLast: true, uses: [] };
    const hasMoved =
      page.progress.started > before.started ||
      page.progress.open < before.open;
    this.#checksWithoutChange = hasMoved ? 0 : this.#checksWithoutChange + 1;
    return { isLast: false, uses: [], wait: this.#waitFor(page.waitFor) };
  }

  #waitFor(
    waitFor:
      | { what: 'window' }
      | { what: 'limit'; resetMs: number }
      | undefined,
  ): PageDone['wait'] {
    switch (waitFor?.what) {
      case undefined:
        return undefined;
      case 'limit':
        return {
          ms: Math.ceil(waitFor.resetMs),
          why: 'Wait for the next minute: this minute’s limit is used up',
        };
      case 'window':
        return {
          ms: backOff(
            this.#checksWithoutChange,
            WINDOW_FIRST_MS,
            WINDOW_MAX_MS,
          ),
          why: 'Wait until running queries of the sweep have ended',
        };
    }
  }

  async pause(): Promise<void> {
    this.gate.pause();
    await this.#record('paused');
  }

  async resume(): Promise<void> {
    if (!this.hasBegun) await condition(() => this.hasBegun);
    if (this.hasEnded)
      throw rejected(`The sweep has already ended (${this.progress.state})`);
    await this.#record('running');
    this.gate.resume();
  }

  /** Starts no further queries; running queries continue. */
  async cancel(): Promise<void> {
    this.gate.stop();
    await this.#record('cancelled');
  }

  /**
   * Writes a command to the sweep's row; readers look only there, so the
   * command takes effect with this write.
   */
  async #record(state: 'paused' | 'running' | 'cancelled'): Promise<void> {
    const { recordSweepState } = activities(
      `Record that the sweep is ${state}`,
    );
    const now = await recordSweepState({ ...this.input, state });
    this.#show(now ?? { ...this.progress, state });
  }

  /**
   * A page that was running when the sweep was paused or cancelled still
   * reports `running`.
   */
  #stateNow({ state }: QuerySweepProgress): QuerySweepProgress['state'] {
    if (state !== 'running') return state;
    if (this.gate.isPaused) return 'paused';
    return this.hasEnded ? this.progress.state : 'running';
  }

  #show(found: QuerySweepProgress): void {
    const now = { ...found, state: this.#stateNow(found) };
    this.progress = now;
    const done = now.started + now.skipped + now.failed;
    setCurrentDetails(
      [
        `**${now.state}**: ${done} of ${now.patients} patients`,
        `- queries started: ${now.started}, still running: ${now.open}`,
        `- skipped (opted out or deleted): ${now.skipped}`,
      ].join('\n'),
    );
  }
}
