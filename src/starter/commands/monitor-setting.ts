import type { ScheduleDescription } from '@temporalio/client';
import type { MonitoringFrequency } from '../../contract/cohort-monitoring.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { pause } from '../progress/pace.ts';
import type { MonitoringId, Monitorings } from '../target/monitorings.ts';

/** Changes one monitoring in the cohort's `settings.monitoring`; all other settings keep their values. Throws ExchangeCallError. */
export async function changeSetting(
  exchange: ExchangeClient,
  { cohortId, kind }: MonitoringId,
  setting: { enabled: boolean; frequency?: MonitoringFrequency },
): Promise<void> {
  const monitoring = kind === 'hie' ? { hie: setting } : { pharmacy: { schedule: setting } };
  await exchange.call('updateCohort', { params: { id: cohortId }, body: { settings: { monitoring } } });
}

/** The exchange updates the schedule after it has responded; if that fails, `reconcile` does it later. */
const FOLLOWS_WITHIN_MS = 20_000;
const LOOK_AGAIN_MS = 250;

/** Waits, for a limited time, until the schedule reflects the cohort's setting. */
export async function untilFollowed(
  monitorings: Monitorings,
  id: MonitoringId,
  isRight: (schedule: ScheduleDescription | undefined) => boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(FOLLOWS_WITHIN_MS);
  while (!signal.aborted) {
    if (isRight(await monitorings.find(id))) return;
    await pause(LOOK_AGAIN_MS, signal);
  }
}
