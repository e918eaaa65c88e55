import type { Store } from '../../platform/database/database.ts';
import { readPauses } from '../../platform/recovery/pause-store.ts';
import { reportSources } from '../../sources/health/report.ts';
import { WEBHOOK_LATE_SECONDS } from './late-after.ts';
import { DESTINATION_STATES, type DestinationState, type OperationsReport } from './report.ts';
import { readSenders } from './sender-store.ts';
import {
  countDestinations,
  countOthers,
  readFailed,
  readOutcomes,
  readTroubledDestinations,
  readUndeliverable,
} from './trouble-store.ts';
import { readOpenWork } from './work-store.ts';

/** Reads the state of the whole system, all accounts, for operators (`starter ops`) and metrics. */
export const readOperationsReport = (store: Pick<Store, 'asSystem'>): Promise<OperationsReport> =>
  store.asSystem(async (tx) => ({
    work: await readOpenWork(tx),
    sources: await reportSources(tx),
    outcomes: await readOutcomes(tx),
    destinations: byState(await countDestinations(tx)),
    troubledDestinations: await readTroubledDestinations(tx, WEBHOOK_LATE_SECONDS),
    undeliverable: await readUndeliverable(tx),
    failed: await readFailed(tx),
    pauses: await readPauses(tx),
    senders: await readSenders(tx),
    ...(await countOthers(tx)),
  }));

function byState(
  counted: readonly { state: DestinationState; destinations: number }[],
): Record<DestinationState, number> {
  const counts = new Map(counted.map(({ state, destinations }) => [state, destinations]));
  return Object.fromEntries(DESTINATION_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
    DestinationState,
    number
  >;
}
