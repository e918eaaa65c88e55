import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';

const CALL_TIMEOUT_MS = 5_000;

export type Scheduler = Pick<Client, 'schedule' | 'withDeadline'>;

/**
 * Makes or changes a Temporal Schedule. One that an operator has paused stays
 * paused. Throws when Temporal does not answer.
 *
 * @param start whether a run begins at once, as far as none is under way
 * @returns whether there was none
 */
export async function putSchedule(
  temporal: Scheduler,
  { scheduleId, ...schedule }: ScheduleOptions,
  { start }: { start: boolean } = { start: false },
): Promise<boolean> {
  const handle = temporal.schedule.getHandle(scheduleId);
  return temporal.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    const isNew = await temporal.schedule
      .create({ ...schedule, scheduleId })
      .then(() => true, alreadyThere);
    if (!isNew) await handle.update(({ state }) => ({ ...schedule, state }));
    if (start) await handle.trigger(ScheduleOverlapPolicy.SKIP);
    return isNew;
  });
}

function alreadyThere(error: unknown): false {
  if (error instanceof ScheduleAlreadyRunning) return false;
  throw error;
}

/** Deletes a Schedule, if there is one. A run under way goes on. */
export async function endSchedule(
  temporal: Scheduler,
  scheduleId: string,
): Promise<void> {
  const handle = temporal.schedule.getHandle(scheduleId);
  await temporal
    .withDeadline(Date.now() + CALL_TIMEOUT_MS, () => handle.delete())
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
}
