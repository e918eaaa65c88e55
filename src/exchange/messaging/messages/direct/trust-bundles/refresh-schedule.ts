import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import { sql } from 'kysely';
import {
  laneOf,
  PRIORITY,
  trustBundleRefreshWorkflowId,
  WORKFLOW_TYPES,
} from '../../../../../contract/temporal.ts';
import type { TrustBundleRefreshInput } from '../../../../../contract/trust-bundle-workflow.ts';
import type {
  Store,
  SystemTx,
} from '../../../../platform/database/database.ts';
import { rowsOf } from '../../../../platform/database/pg-arrays.ts';
import {
  itemRecovery,
  type Recovery,
} from '../../../../platform/recovery/recovery.ts';
import {
  endSchedule,
  putSchedule,
  type Scheduler,
} from '../../../../platform/workflows/schedules.ts';
import { CHECKED_WITHIN } from './bundle-store.ts';

const HOUR_MS = 60 * 60_000;

/**
 * Makes or changes the Temporal Schedule that refreshes a trust bundle, and
 * starts a run at once. Throws when Temporal does not answer.
 *
 * @returns whether there was none
 */
export function scheduleBundle(
  temporal: Scheduler,
  bundle: string,
  everyHours: number,
): Promise<boolean> {
  const scheduleId = trustBundleRefreshWorkflowId(bundle);
  const input: TrustBundleRefreshInput = { bundle };
  return putSchedule(
    temporal,
    {
      scheduleId,
      spec: {
        intervals: [{ every: everyHours * HOUR_MS }],
        // Not at the hour, as everybody else.
        jitter: Math.min(everyHours, 1) * (HOUR_MS / 2),
      },
      action: {
        type: 'startWorkflow',
        workflowType: WORKFLOW_TYPES.trustBundleRefresh,
        workflowId: scheduleId,
        taskQueue: laneOf(PRIORITY.monitoring),
        args: [input],
        staticSummary: `Refresh of the trust bundle ${bundle}`,
      },
      policies: {
        overlap: ScheduleOverlapPolicy.SKIP,
        catchupWindow: everyHours * HOUR_MS,
      },
    },
    { start: true },
  );
}

/** Deletes the Schedule, if there is one. A run under way goes on. */
export const endBundle = (temporal: Client, bundle: string): Promise<void> =>
  endSchedule(temporal, trustBundleRefreshWorkflowId(bundle));

interface UncheckedBundle {
  name: string;
  everyHours: number;
  since: Date;
}

/**
 * Gives a schedule to each bundle that nobody has looked at for long: after a
 * restore, Temporal may know nothing of it.
 */
export const bundleSchedules = ({
  store,
  temporal,
}: {
  store: Pick<Store, 'asSystem'>;
  temporal: Scheduler;
}): Recovery =>
  itemRecovery<UncheckedBundle>({
    name: 'trust bundles',
    find: (limit) => store.asSystem((tx) => uncheckedBundles(tx, limit)),
    heal: ({ name, everyHours }) => scheduleBundle(temporal, name, everyHours),
  });

const uncheckedBundles = (
  tx: SystemTx,
  limit: number,
): Promise<UncheckedBundle[]> =>
  rowsOf(
    tx,
    sql<UncheckedBundle>`
      select name, refresh_hours as "everyHours", coalesce(checked_at, changed_at) as since
      from trust_bundle
      where coalesce(checked_at, changed_at) < now() - ${CHECKED_WITHIN}
        or (checked_at is null and changed_at < now() - interval '2 minutes')
      order by since limit ${limit}`,
  );
