import type { Client } from '@temporalio/client';
import { parseCohortMonitoringId } from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import type { ScheduleRef } from './schedule-store.ts';

/** Deadline for reading one part of the list. */
const LIST_TIMEOUT_MS = 20_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The list of all schedules in Temporal, read part by part, so that no round reads all of it. */
export interface ScheduleListing {
  /**
   * Reads at most `count` more schedules, and returns those of monitoring that carry an account id. (Schedules that a starter
   * made for another operator's exchange carry none.) Begins again after the end, and after an error.
   */
  next(count: number): Promise<{ listed: ScheduleRef[]; isEnd: boolean }>;
}

export function createScheduleListing(temporal: Client): ScheduleListing {
  const open = () => temporal.schedule.list({ pageSize: 1_000 })[Symbol.asyncIterator]();
  let position: ReturnType<typeof open> | undefined;

  async function read(count: number): Promise<{ listed: ScheduleRef[]; isEnd: boolean }> {
    position ??= open();
    const listed: ScheduleRef[] = [];
    for (let read = 0; read < count; read++) {
      const { done, value } = await position.next();
      if (done === true) {
        position = undefined;
        return { listed, isEnd: true };
      }
      const accountId = value.typedSearchAttributes?.get(searchAttribute.accountId);
      const parsed = parseCohortMonitoringId(value.scheduleId);
      if (
        parsed !== undefined &&
        accountId !== undefined &&
        UUID.test(accountId) &&
        UUID.test(parsed.cohortId)
      )
        listed.push({ accountId, ...parsed });
    }
    return { listed, isEnd: false };
  }

  return {
    async next(count) {
      try {
        return await temporal.withDeadline(Date.now() + LIST_TIMEOUT_MS, () => read(count));
      } catch (error) {
        position = undefined;
        throw error;
      }
    },
  };
}
