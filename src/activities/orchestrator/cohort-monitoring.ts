import {
  activityInfo,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import type {
  MonitoredPage,
  PageInput,
} from '../../orchestrator/monitoring/monitored-page.ts';
import { workOnPage } from '../../orchestrator/monitoring/work-on-page.ts';
import type { EndpointActivityDeps } from './call-exchange.ts';
import { asCallFailure } from './call-exchange.ts';

export type MonitoringActivities = ReturnType<
  typeof createMonitoringActivities
>;
export type { MonitoredPage, PageInput };

/**
 * Sent also while one patient takes long, so that Temporal notices a killed
 * worker.
 */
const HEARTBEAT_EVERY_MS = 2_000;

/** The activity of `cohortMonitoring`. */
export function createMonitoringActivities({
  clientFor,
  idHmacKey,
}: EndpointActivityDeps) {
  return {
    /**
     * Starts queries for one page of a cohort. A retry continues after the last
     * patient that a heartbeat recorded; a cancelled page returns what it has
     * done so far. The type of a failure is its `FailureKind`.
     */
    async monitorPage(input: PageInput): Promise<MonitoredPage> {
      const details: unknown = activityInfo().heartbeatDetails;
      let noted = isPage(details) ? details : undefined;
      const stopped = cancellationSignal();
      const timer = setInterval(() => heartbeat(noted), HEARTBEAT_EVERY_MS);
      try {
        return await workOnPage(
          {
            client: clientFor(input.exchange),
            hmacKey: idHmacKey,
            note: (page) => {
              // Clone it: Temporal encodes the details later, when the page may
              // have changed.
              noted = structuredClone(page);
              heartbeat(noted);
            },
            isStopped: () => stopped.aborted,
          },
          input,
          noted,
        );
      } catch (error) {
        throw asCallFailure(error);
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** Heartbeat details of an earlier attempt of this activity are untyped. */
const isPage = (details: unknown): details is MonitoredPage =>
  typeof details === 'object' &&
  details !== null &&
  'canList' in details &&
  'skipped' in details;
