import { createExportLauncher } from './delivery/bulk-export/launcher.ts';
import { createConsolidatedLauncher } from './delivery/consolidated-query/transitions.ts';
import { createDocumentRenditions } from './delivery/documents/renditions.ts';
import { createDeferredQuestions } from './delivery/responding-gateway/deferred-questions.ts';
import { createMessageLauncher } from './messaging/messages/launcher.ts';
import { createSubmissionIntake } from './messaging/messages/xdr/take-submission.ts';
import { createFollowUps } from './messaging/notifications/follow-up/follow-ups.ts';
import { createRecordings } from './messaging/notifications/recording/recordings.ts';
import { createDestinationPing } from './messaging/webhooks/ping.ts';
import { createBulkCreateService } from './people/bulk-create/service.ts';
import { createCohortSchedules } from './people/monitoring/cohort-schedules.ts';
import {
  createErasures,
  workflowStopper,
} from './platform/erasure/erasures.ts';
import type { Platform } from './platform/platform.ts';
import { createStartGuard } from './platform/recovery/start-guard.ts';
import { createDeferredAnswers } from './queries/network-query/deferred-answers.ts';
import { createNetworkQueryService } from './queries/network-query/service.ts';
import { createSourceCallbacks } from './queries/network-query/source-callback.ts';
import { noteIncomplete } from './queries/network-query/timeline-store.ts';
import { createRedriveLauncher } from './queries/redrive/redriver.ts';
import { createSweepControl } from './queries/sweep/control.ts';
import { createArrivals } from './records/arrivals/arrivals.ts';
import { createCcdaConverter } from './records/conversion/ccda-converter.ts';
import { createRecordKeeper } from './records/record-keeper.ts';
import { createSourceHealth } from './sources/health/source-health.ts';

/**
 * The services of one process, by the name under which routes, activities and
 * features ask for them. A service that another one uses is made before it.
 */
export function createServices(platform: Platform) {
  const { store, blobs, temporal, logger, idHmacKey } = platform;
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const arrivals = createArrivals({ ...platform, records });
  return {
    records,
    arrivals,
    erasures: createErasures({
      store,
      blobs,
      stopWorkflow: workflowStopper(temporal),
      logger,
    }),
    bulkCreates: createBulkCreateService(platform),
    cohortSchedules: createCohortSchedules({ store, temporal, logger }),
    sourceHealth: createSourceHealth(store),
    networkQueries: createNetworkQueryService(platform),
    sourceCallbacks: createSourceCallbacks(platform),
    deferredAnswers: createDeferredAnswers(platform),
    deferredQuestions: createDeferredQuestions(platform),
    queryRedrives: createRedriveLauncher(platform),
    querySweeps: createSweepControl({ store, temporal }),
    consolidatedQueries: createConsolidatedLauncher(platform),
    documentRenditions: createDocumentRenditions({ store, blobs }),
    bulkExports: createExportLauncher(platform),
    messages: createMessageLauncher(platform),
    takeSubmission: createSubmissionIntake({ ...platform, arrivals }),
    followUps: createFollowUps({ store, temporal, logger }),
    recordings: createRecordings({
      store,
      blobs,
      records,
      arrivals,
      startGuard: createStartGuard(store),
      idHmacKey,
      logger,
    }),
    destinationPing: createDestinationPing(platform),
  };
}

export type Services = ReturnType<typeof createServices>;
