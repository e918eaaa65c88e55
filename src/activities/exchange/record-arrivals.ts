import type { ArrivalsMerged } from '../../contract/record-arrivals-workflow.ts';
import type { Arrivals } from '../../exchange/records/arrivals/arrivals.ts';
import { withHeartbeat } from './heartbeat.ts';

export type ArrivalActivities = ReturnType<typeof createArrivalActivities>;

const HEARTBEAT_EVERY_MS = 5_000;

export const createArrivalActivities = ({
  arrivals,
}: {
  arrivals: Pick<Arrivals, 'mergeDue'>;
}) => ({
  /** Merges the records that are due, for at most half a minute. */
  mergeArrivals: (): Promise<ArrivalsMerged> =>
    withHeartbeat({ everyMs: HEARTBEAT_EVERY_MS }, arrivals.mergeDue),
});
