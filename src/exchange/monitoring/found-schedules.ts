import type { Client } from '@temporalio/client';
import { parseCohortMonitoringId } from '../../contract/temporal.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import type { ScheduleRef } from './schedule-store.ts';

/** For the whole list. */
const LIST_TIMEOUT_MS = 20_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The monitoring schedules that Temporal has for accounts of an exchange of ours; those that a starter made for a
 * foreign exchange carry no account. Reads the list of all schedules, so only now and then.
 */
export const foundSchedules = (temporal: Client): Promise<ScheduleRef[]> =>
  temporal.withDeadline(Date.now() + LIST_TIMEOUT_MS, () => readSchedules(temporal));

async function readSchedules(temporal: Client): Promise<ScheduleRef[]> {
  const found: ScheduleRef[] = [];
  for await (const { scheduleId, typedSearchAttributes } of temporal.schedule.list({ pageSize: 1_000 })) {
    const accountId = typedSearchAttributes?.get(searchAttribute.accountId);
    const parsed = parseCohortMonitoringId(scheduleId);
    if (parsed !== undefined && accountId !== undefined && UUID.test(accountId) && UUID.test(parsed.cohortId))
      found.push({ accountId, ...parsed });
  }
  return found;
}
