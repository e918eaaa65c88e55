import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { MonitoredPage, PageInput } from '../../orchestrator/monitoring/monitored-page.ts';
import { workOnPage } from '../../orchestrator/monitoring/work-on-page.ts';
import type { EndpointActivityDeps } from './call-exchange.ts';
import { asApplicationFailure } from './call-exchange.ts';

export type MonitoringActivities = ReturnType<typeof createMonitoringActivities>;
export type { MonitoredPage, PageInput };

/** Also while one patient takes long: a killed worker is noticed by missing it. */
const HEARTBEAT_EVERY_MS = 2_000;

/** What `cohortMonitoring` does at the exchange. */
export function createMonitoringActivities({ clientFor, idHmacKey }: EndpointActivityDeps) {
  return {
    /**
     * Starts the queries of a page of a cohort. One that is cut off goes on after the last patient of whom a
     * heartbeat told; a cancelled one ends with what it has done. Fails with the `FailureKind` as its type.
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
              // It is encoded later, when the page may have gone on.
              noted = structuredClone(page);
              heartbeat(noted);
            },
            isStopped: () => stopped.aborted,
          },
          input,
          noted,
        );
      } catch (error) {
        if (error instanceof ExchangeCallError) throw asApplicationFailure(error);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** Heartbeat details come from an earlier attempt of the same activity. */
const isPage = (details: unknown): details is MonitoredPage =>
  typeof details === 'object' && details !== null && 'canList' in details && 'skipped' in details;
