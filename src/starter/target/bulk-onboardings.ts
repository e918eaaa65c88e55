import { readConfig } from '../../config.ts';
import { bulkOnboardingWorkflowId } from '../../contract/temporal.ts';
import { parseKeyRing } from '../../lib/key-ring.ts';
import type { FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import {
  type BulkOnboardingHandle,
  type BulkOnboardingRequest,
  bulkJobKey,
  type StartedBulkOnboarding,
  startBulkOnboarding,
} from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import { openBlobStore } from '../../shared/blobs/open-blob-store.ts';
import { connect, orchestrationSettings, START_TIMEOUT_MS } from './onboardings.ts';
import type { Env, Target } from './target.ts';

/** The bulk onboardings of an exchange in Temporal. Calls throw when Temporal cannot be reached. */
export interface BulkOnboardings {
  /** The store of their files; the workers use the same store. */
  files: FileStore;
  start(request: BulkOnboardingRequest): Promise<StartedBulkOnboarding>;
  /** Returns the handle for a job id or a workflow id; the workflow may not exist. */
  find(jobOrWorkflowId: string): { handle: BulkOnboardingHandle; workflowId: string };
  close(): Promise<void>;
}

/**
 * Connects to Temporal and the file store: those of the embedded stack, else those of TEMPORAL_ADDRESS and
 * ORCHESTRATOR_FILES. Throws ConfigError, and an error with the address when Temporal cannot be reached.
 */
export async function openBulkOnboardings(target: Target, env?: Env): Promise<BulkOnboardings> {
  const { temporal, idHmacKey, access } = await orchestrationSettings(target, env);
  const storage = target.stack?.connection.storage;
  const address = storage?.orchestratorFiles ?? readConfig(['ORCHESTRATOR_FILES'], env).ORCHESTRATOR_FILES;
  const keyRing = parseKeyRing(temporal.DATA_KEYS);
  const files = await openBlobStore(address, keyRing, 'ORCHESTRATOR_FILES', storage?.s3);
  const client = await connect(temporal);
  return {
    files,
    start: (request) =>
      client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        startBulkOnboarding(client, request, { exchange: access, idHmacKey }),
      ),
    find(jobOrWorkflowId) {
      const workflowId = jobOrWorkflowId.startsWith(bulkOnboardingWorkflowId(''))
        ? jobOrWorkflowId
        : bulkOnboardingWorkflowId(bulkJobKey(jobOrWorkflowId, access, idHmacKey));
      return { handle: client.workflow.getHandle(workflowId) as BulkOnboardingHandle, workflowId };
    },
    close: () => client.connection.close(),
  };
}
