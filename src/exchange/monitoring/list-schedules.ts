import type { Client } from '@temporalio/client';
import { parseCohortMonitoringId } from '../../contract/temporal.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import type { ScheduleRef } from './schedule-store.ts';

/** Deadline for reading the whole list. */
const LIST_TIMEOUT_MS = 20_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The monitoring schedules in Temporal that carry an account id. Schedules that a starter made for another operator's exchange
 * carry none. Reads the list of all schedules, so call it rarely.
 */
export const listMonitoringSchedules = (temporal: Client): Promise<ScheduleRef[]> =>
  temporal.withDeadline(Date.now() + LIST_TIMEOUT_MS, () => readSchedules(temporal));

async function readSchedules(temporal: Client): Promise<ScheduleRef[]> {
  const schedules: ScheduleRef[] = [];
  for await (const { scheduleId, typedSearchAttributes } of temporal.schedule.list({ pageSize: 1_000 })) {
    const accountId = typedSearchAttributes?.get(searchAttribute.accountId);
    const parsed = parseCohortMonitoringId(scheduleId);
    if (parsed !== undefined && accountId !== undefined && UUID.test(accountId) && UUID.test(parsed.cohortId))
      schedules.push({ accountId, ...parsed });
  }
  return schedules;
}
