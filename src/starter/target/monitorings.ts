import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { parseCohortMonitoringId } from '../../contract/temporal.ts';
import { accountOf } from '../../orchestrator/client/credentials.ts';
import {
  describeMonitoringSchedule,
  monitoringHandle,
} from '../../shared/monitoring/monitoring-control.ts';
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

export type Monitorings = ReturnType<typeof monitoringsOf>;

/**
 * Runs `work` with the monitorings of an exchange, then closes the connection.
 * Throws ConfigError, UsageError.
 */
export async function withMonitorings<R>(
  { target, env }: { target: Target; env?: Env },
  work: (monitorings: Monitorings) => Promise<R>,
): Promise<R> {
  const { temporal: settings, access } = await orchestrationSettings(
    target,
    env,
  );
  const temporal = await connect(settings);
  try {
    return await work(monitoringsOf(temporal, access));
  } finally {
    await temporal.connection.close();
  }
}

/**
 * The monitoring schedules of an exchange in Temporal. Calls throw when
 * Temporal cannot be reached.
 */
function monitoringsOf(temporal: TemporalClient, access: ExchangeAccess) {
  const accountId = accountOf(access);
  /** Undefined when there is none. */
  const find = async ({ cohortId, kind }: MonitoringId) => {
    const found = await describeMonitoringSchedule(temporal, cohortId, kind);
    const isOurs =
      found?.typedSearchAttributes.get(searchAttribute.accountId) === accountId;
    return isOurs ? found : undefined;
  };
  return {
    temporal,
    access,
    /**
     * Our own exchange creates schedules from a cohort's settings; for another
     * exchange this command line does.
     */
    isOwn: accountId !== undefined,
    /** Sorted by id. */
    async list() {
      const found: MonitoringId[] = [];
      for await (const {
        scheduleId,
        typedSearchAttributes,
      } of temporal.schedule.list()) {
        const id = parseCohortMonitoringId(scheduleId);
        if (
          id !== undefined &&
          typedSearchAttributes?.get(searchAttribute.accountId) === accountId
        )
          found.push(id);
      }
      return found.sort((a, b) =>
        `${a.cohortId}/${a.kind}`.localeCompare(`${b.cohortId}/${b.kind}`),
      );
    },
    find,
    /** Throws RefusedError when there is none. */
    async require(id: MonitoringId) {
      const found = await find(id);
      if (found !== undefined) return found;
      throw new RefusedError(
        `Cohort ${id.cohortId} has no ${id.kind} monitoring. Enable it with: npm run starter -- monitor create ${id.cohortId} ${id.kind}`,
      );
    },
    handle: ({ cohortId, kind }: MonitoringId) =>
      monitoringHandle(temporal, cohortId, kind),
  };
}
