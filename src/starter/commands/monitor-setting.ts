import type { ScheduleDescription } from '@temporalio/client';
import type { MonitoringFrequency } from '../../contract/cohort-monitoring.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { pause } from '../progress/pace.ts';
import type { MonitoringId, Monitorings } from '../target/monitorings.ts';

/** Changes `settings.monitoring` of a cohort, and nothing else of it. Throws ExchangeCallError. */
export async function changeSetting(
  exchange: ExchangeClient,
  { cohortId, kind }: MonitoringId,
  setting: { enabled: boolean; frequency?: MonitoringFrequency },
): Promise<void> {
  const monitoring = kind === 'hie' ? { hie: setting } : { pharmacy: { schedule: setting } };
  await exchange.call('updateCohort', { params: { id: cohortId }, body: { settings: { monitoring } } });
}

/** The exchange writes the schedule after it has answered; `reconcile` does it when that fails. */
const FOLLOWS_WITHIN_MS = 20_000;
const LOOK_AGAIN_MS = 250;

/** Waits until the schedule is as the setting wants it, but not for ever: it will follow without us too. */
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
