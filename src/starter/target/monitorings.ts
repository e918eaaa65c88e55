import type { ScheduleDescription } from '@temporalio/client';
import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { parseCohortMonitoringId } from '../../contract/temporal.ts';
import { accountOf } from '../../orchestrator/client/credentials.ts';
import { describeMonitoringSchedule, monitoringHandle } from '../../shared/monitoring/monitoring-control.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import { RefusedError } from '../errors.ts';
import { connect, orchestrationSettings } from './onboardings.ts';
import type { Env, Target } from './target.ts';

/** One monitoring of one cohort. */
export interface MonitoringId {
  cohortId: string;
  kind: MonitoringKind;
}

/** The monitoring schedules of an exchange in Temporal. Calls throw when Temporal cannot be reached. */
export interface Monitorings {
  temporal: TemporalClient;
  access: ExchangeAccess;
  /** Our own exchange creates schedules from a cohort's settings; for another exchange this command line does. */
  isOwn: boolean;
  /** Sorted by id. */
  list(): Promise<MonitoringId[]>;
  /** Undefined when there is none. */
  find(id: MonitoringId): Promise<ScheduleDescription | undefined>;
  /** Throws RefusedError when there is none. */
  require(id: MonitoringId): Promise<ScheduleDescription>;
  handle(id: MonitoringId): ReturnType<typeof monitoringHandle>;
}

/** Runs `work` with the monitorings of an exchange, then closes the connection. Throws ConfigError, UsageError. */
export async function withMonitorings<R>(
  { target, env }: { target: Target; env?: Env },
  work: (monitorings: Monitorings) => Promise<R>,
): Promise<R> {
  const { temporal: settings, access } = await orchestrationSettings(target, env);
  const temporal = await connect(settings);
  try {
    return await work(monitoringsOf(temporal, access));
  } finally {
    await temporal.connection.close();
  }
}

function monitoringsOf(temporal: TemporalClient, access: ExchangeAccess): Monitorings {
  const accountId = accountOf(access);
  const find = async ({ cohortId, kind }: MonitoringId) => {
    const found = await describeMonitoringSchedule(temporal, cohortId, kind);
    const isOurs = found?.typedSearchAttributes.get(searchAttribute.accountId) === accountId;
    return isOurs ? found : undefined;
  };
  return {
    temporal,
    access,
    isOwn: accountId !== undefined,
    async list() {
      const found: MonitoringId[] = [];
      for await (const { scheduleId, typedSearchAttributes } of temporal.schedule.list()) {
        const id = parseCohortMonitoringId(scheduleId);
        if (id !== undefined && typedSearchAttributes?.get(searchAttribute.accountId) === accountId)
          found.push(id);
      }
      return found.sort((a, b) => `${a.cohortId}/${a.kind}`.localeCompare(`${b.cohortId}/${b.kind}`));
    },
    find,
    async require(id) {
      const found = await find(id);
      if (found !== undefined) return found;
      throw new RefusedError(
        `Cohort ${id.cohortId} has no ${id.kind} monitoring. Enable it with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
      );
    },
    handle: ({ cohortId, kind }) => monitoringHandle(temporal, cohortId, kind),
  };
}
