import { createBulkFileActivities } from '../activities/orchestrator/bulk-onboarding.ts';
import { createMonitoringActivities } from '../activities/orchestrator/cohort-monitoring.ts';
import { createEndpointActivities } from '../activities/orchestrator/endpoints.ts';
import { patientOnboardingActivities } from '../activities/orchestrator/patient-onboarding.ts';
import { createOutcomeActivities } from '../activities/orchestrator/read-outcome.ts';
import { readConfig } from '../config.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import type { FileStore } from '../orchestrator/bulk-onboarding/file-store.ts';
import {
  EXCHANGE_ACCESS_VARIABLES,
  type ExchangeConnection,
  openExchange,
} from '../orchestrator/exchange-access.ts';
import { openBlobStore } from '../shared/blobs/open-blob-store.ts';
import type { HostedService } from './hosted-service.ts';

/**
 * Builds the activities of the orchestrator's task queue. With
 * EXCHANGE_API_KEY, INTERNAL_TOKEN_KEY is not needed. Throws ConfigError.
 */
export async function openOrchestratorService(): Promise<HostedService> {
  const config = readConfig([
    ...EXCHANGE_ACCESS_VARIABLES,
    'ID_HMAC_KEY',
    'ORCHESTRATOR_FILES',
    'DATA_KEYS',
  ]);
  const own =
    config.EXCHANGE_API_KEY === undefined
      ? readConfig(['INTERNAL_TOKEN_KEY'])
      : {};
  const keyRing = parseKeyRing(config.DATA_KEYS);
  const files = await openBlobStore(
    config.ORCHESTRATOR_FILES,
    keyRing,
    'ORCHESTRATOR_FILES',
  );
  const exchange = openExchange({ ...config, ...own });
  return {
    activities: {
      [TASK_QUEUES.orchestrator]: orchestratorActivities(
        exchange,
        config.ID_HMAC_KEY,
        files,
      ),
    },
    close: () => exchange.close(),
  };
}

/**
 * The activities of our workflows and of all operations. Without `files`, none
 * for the files of `bulkOnboarding`.
 */
export const orchestratorActivities = (
  { clientFor, transferFor }: ExchangeConnection,
  idHmacKey: string,
  files: FileStore | undefined,
) => {
  const endpoints = createEndpointActivities({ clientFor, idHmacKey });
  return {
    ...endpoints,
    ...createOutcomeActivities(endpoints),
    ...createMonitoringActivities({ clientFor, idHmacKey }),
    ...patientOnboardingActivities,
    ...(files === undefined
      ? {}
      : createBulkFileActivities({ clientFor, transferFor, files })),
  };
};
