import type { TemporalClient } from '../../src/temporal/client.ts';

export interface HistoryTimes {
  /**
   * Milliseconds between the scheduling and the end of the activities of a
   * type, added up.
   */
  activityMs: Readonly<Record<string, number>>;
  events: number;
}

/** Time that a workflow spent in each activity type, from its history. */
export async function readHistoryTimes(
  temporal: TemporalClient,
  workflowId: string,
): Promise<HistoryTimes> {
  const history = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const events = history.events ?? [];
  const scheduled = new Map<string, { type: string; atMs: number }>();
  const activityMs: Record<string, number> = {};
  for (const event of events) {
    const atMs =
      Number(event.eventTime?.seconds ?? 0) * 1_000 +
      Number(event.eventTime?.nanos ?? 0) / 1e6;
    const type = event.activityTaskScheduledEventAttributes?.activityType?.name;
    if (type) scheduled.set(String(event.eventId), { type, atMs });
    const begun = scheduled.get(
      String(event.activityTaskCompletedEventAttributes?.scheduledEventId),
    );
    if (begun !== undefined)
      activityMs[begun.type] =
        (activityMs[begun.type] ?? 0) + atMs - begun.atMs;
  }
  return { activityMs, events: events.length };
}
