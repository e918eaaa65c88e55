import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import {
  type ArrivalsMerged,
  RECORD_ARRIVALS_MESSAGES,
} from '../../../contract/record-arrivals-workflow.ts';
import {
  laneOf,
  PRIORITY,
  RECORD_ARRIVALS_WORKFLOW_ID,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { Platform } from '../../platform/platform.ts';
import { healEach, type Recovery } from '../../platform/recovery/recovery.ts';
import { createBackground } from '../../platform/workflows/start-workflow.ts';
import type { RecordKeeper } from '../record-keeper.ts';
import {
  type DueRecord,
  dueRecords,
  overdueRecords,
  postponeRecord,
  settleRecord,
  untilNextRecord,
} from './arrival-store.ts';

export type Arrivals = ReturnType<typeof createArrivals>;

/** A process tells Temporal of arrivals at most this often. */
const TOLD_EVERY_MS = 1_000;
const SIGNAL_TIMEOUT_MS = 5_000;
/** A step begins no merge after this time. */
const STEP_MS = 30_000;
/** Merged at the same time: callers come first. */
const RECORDS_AT_ONCE = 2;
/**
 * A record that waits this long beyond its time has lost its signal, or its
 * workflow.
 */
const OVERDUE_MS = 15_000;

/**
 * Merges patients' records soon after a message or a contribution has brought
 * something into them (`noteArrival`), so that subscriptions, `_since`, views
 * and webhooks do not wait for a reader.
 */
export function createArrivals({
  store,
  temporal,
  logger,
  records,
}: Pick<Platform, 'store' | 'temporal' | 'logger'> & {
  records: Pick<RecordKeeper, 'merge'>;
}) {
  const background = createBackground(logger);
  let toldAt = Number.NEGATIVE_INFINITY;
  let isTelling = false;

  /** Tells once of all arrivals that are noted until then. */
  async function tellSoon(): Promise<void> {
    await delay(Math.max(0, toldAt + TOLD_EVERY_MS - performance.now()));
    toldAt = performance.now();
    isTelling = false;
    await tell(temporal);
  }

  async function mergeRecord(record: DueRecord): Promise<boolean> {
    const { accountId, patientId } = record;
    try {
      await records.merge(accountId, patientId);
    } catch (error) {
      await store.asAccount(accountId, (tx) => postponeRecord(tx, patientId));
      throw error;
    }
    await store.asAccount(accountId, (tx) => settleRecord(tx, record));
    return true;
  }

  return {
    /**
     * After the commit of arrivals: has them merged, in the background. When
     * that fails, `reconcile` does it later.
     */
    tell(): void {
      if (isTelling) return;
      isTelling = true;
      background.run(
        'Temporal was not told of an arrival; reconcile does it later',
        {},
        tellSoon,
      );
    },

    /** Merges the records that are due, accounts in turns. */
    async mergeDue(signal: AbortSignal): Promise<ArrivalsMerged> {
      const step = { merged: 0, failed: 0 };
      const end = AbortSignal.any([signal, AbortSignal.timeout(STEP_MS)]);
      while (!end.aborted) {
        const due = await store.asSystem(dueRecords);
        if (due.length === 0) break;
        const { healed, failures } = await healEach(due, {
          atOnce: RECORDS_AT_ONCE,
          signal: end,
          heal: mergeRecord,
        });
        step.merged += healed;
        step.failed += failures.length;
        if (failures.length > 0)
          logger.warn(
            { err: failures[0], failed: failures.length },
            'records with arrivals could not be merged; they are tried again later',
          );
      }
      signal.throwIfAborted();
      return { ...step, nextInMs: await store.asSystem(untilNextRecord) };
    },

    recovery: {
      name: 'arrivals to merge',
      async takeUp() {
        const { found, oldestSince } = await store.asSystem((tx) =>
          overdueRecords(tx, OVERDUE_MS),
        );
        if (found === 0) return { found, healed: 0, failures: [] };
        await tell(temporal);
        return { found, healed: found, failures: [], oldestSince };
      },
    } satisfies Recovery,

    drain: () => background.drain(),
  };
}

/** Signals the workflow, which is started for it if it does not run. */
async function tell(temporal: Client): Promise<void> {
  await temporal.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
    temporal.workflow.signalWithStart(WORKFLOW_TYPES.recordArrivals, {
      workflowId: RECORD_ARRIVALS_WORKFLOW_ID,
      taskQueue: laneOf(PRIORITY.monitoring),
      args: [],
      signal: RECORD_ARRIVALS_MESSAGES.arrived,
      signalArgs: [],
      priority: { priorityKey: PRIORITY.monitoring },
      staticSummary: 'Merges the records into which something has arrived',
    }),
  );
}
