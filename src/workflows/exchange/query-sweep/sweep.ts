import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SweepActivities } from '../../../activities/exchange/query-sweep.ts';
import type {
  QuerySweepInput,
  QuerySweepProgress,
  SweepPace,
} from '../../../contract/bulk-create-workflow.ts';
import type { Gate } from '../../shared/gate.ts';
import { backOff } from '../../shared/pacing.ts';
import type { PageDone } from '../../shared/work-in-pages.ts';

/** First and longest wait before the window is looked at again while none of its queries ends. */
const WINDOW_FIRST_MS = 1_000;
const WINDOW_MAX_MS = 30_000;

/** Retried until they are done: PostgreSQL may be away for a while. */
const activities = (summary: string) =>
  proxyActivities<SweepActivities>({
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '1 minute',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary,
  });

/** Where one sweep stands and the steps it takes; the workflow only wires it. */
export class Sweep {
  progress: QuerySweepProgress;
  #looksInVain = 0;

  constructor(
    readonly input: QuerySweepInput,
    readonly pace: SweepPace,
    readonly gate: Gate,
    carried?: QuerySweepProgress,
  ) {
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
    if (carried !== undefined) this.#tell(carried);
  }

  get hasEnded(): boolean {
    return this.progress.state === 'completed' || this.progress.state === 'cancelled';
  }

  /** Takes up what an earlier workflow of this sweep has left, if there was one. */
  async begin(): Promise<void> {
    const { beginSweep } = activities('Count the patients');
    const found = await beginSweep(this.input);
    if (found === undefined) {
      this.gate.stop();
      this.#tell({ ...this.progress, state: 'completed' });
      return;
    }
    this.#tell(found);
    if (found.state === 'paused') this.gate.pause();
    if (this.hasEnded) this.gate.stop();
  }

  async nextPage(): Promise<PageDone> {
    const { startSweepPage } = activities('Start the queries of the next patients');
    const before = this.progress;
    const page = await startSweepPage({ ...this.input, pace: this.pace });
    // The bulk create is gone, and its sweep with it.
    this.#tell(page?.progress ?? { ...before, state: 'cancelled' });
    if (page === undefined) return { isLast: true, uses: [] };
    if (this.hasEnded) return { isLast: true, uses: [] };
    const hasMoved = page.progress.started > before.started || page.progress.open < before.open;
    this.#looksInVain = hasMoved ? 0 : this.#looksInVain + 1;
    return { isLast: false, uses: [], wait: this.#waitFor(page.waitFor) };
  }

  #waitFor(waitFor: { what: 'window' } | { what: 'limit'; resetMs: number } | undefined): PageDone['wait'] {
    switch (waitFor?.what) {
      case undefined:
        return undefined;
      case 'limit':
        return { ms: Math.ceil(waitFor.resetMs), why: 'Wait for the next minute: its limit is used' };
      case 'window':
        return {
          ms: backOff(this.#looksInVain, WINDOW_FIRST_MS, WINDOW_MAX_MS),
          why: 'Wait until queries of the window have ended',
        };
    }
  }

  async pause(): Promise<void> {
    this.gate.pause();
    await this.#record('paused');
  }

  async resume(): Promise<void> {
    await this.#record('running');
    this.gate.resume();
  }

  /** Starts no further query; those under way go on. */
  async cancel(): Promise<void> {
    this.gate.stop();
    await this.#record('cancelled');
  }

  /** The sweep's row is what everybody reads, so a command is done when it is written there. */
  async #record(state: 'paused' | 'running' | 'cancelled'): Promise<void> {
    const { recordSweepState } = activities(`Note that the sweep is ${state}`);
    const now = await recordSweepState({ ...this.input, state });
    this.#tell(now ?? { ...this.progress, state });
  }

  #tell(found: QuerySweepProgress): void {
    // A page that was under way when it was paused does not know of it.
    const state = found.state === 'running' && this.gate.isPaused ? 'paused' : found.state;
    const now = { ...found, state };
    this.progress = now;
    const done = now.started + now.skipped + now.failed;
    setCurrentDetails(
      [
        `**${now.state}**: ${done} of ${now.patients} patients`,
        `- queries started: ${now.started}, ${now.open} of them open`,
        `- skipped (opted out or deleted): ${now.skipped}`,
      ].join('\n'),
    );
  }
}
