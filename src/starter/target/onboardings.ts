import type { Client, WorkflowHandle } from '@temporalio/client';
import { readConfig } from '../../config.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import {
  bulkOnboardingWorkflowId,
  patientOnboardingWorkflowId,
} from '../../contract/temporal.ts';
import { parseKeyRing } from '../../lib/key-ring.ts';
import {
  ensureSecrets,
  temporalOfStack,
} from '../../local-stack/connection-file.ts';
import type { FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import {
  type BulkOnboardingHandle,
  type BulkOnboardingRequest,
  bulkJobKey,
  startBulkOnboarding,
} from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import {
  accountAccess,
  configuredAccess,
} from '../../orchestrator/client/credentials.ts';
import type { OnboardingRequest } from '../../orchestrator/patient-onboarding/onboarding-request.ts';
import {
  type OnboardingHandle,
  orchestrationIdOf,
  startOnboarding,
} from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import { openBlobStore } from '../../shared/blobs/open-blob-store.ts';
import {
  createTemporalClient,
  TEMPORAL_VARIABLES,
  type TemporalClient,
  type TemporalConfig,
} from '../../temporal/client.ts';
import { UsageError } from '../errors.ts';
import type { Env, Target } from './target.ts';

export const START_TIMEOUT_MS = 15_000;

/**
 * Settings with which the orchestrator's workflows for an exchange are found
 * and started.
 */
export interface OrchestrationSettings {
  temporal: TemporalConfig;
  idHmacKey: string;
  access: ExchangeAccess;
}

export type StarterOnboardings = Awaited<ReturnType<typeof openOnboardings>>;

/**
 * The onboardings of an exchange in Temporal; calls throw when Temporal cannot
 * be reached. Connects to Temporal: that of the embedded stack, else that of
 * TEMPORAL_ADDRESS. Throws ConfigError, and an error with the address when
 * Temporal cannot be reached.
 */
export async function openOnboardings(target: Target, env?: Env) {
  const { temporal, idHmacKey, access } = await orchestrationSettings(
    target,
    env,
  );
  const client = await connect(temporal);
  return {
    start: (request: OnboardingRequest) =>
      client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        startOnboarding(client, request, { exchange: access, idHmacKey }),
      ),
    find: finder<OnboardingHandle>(client, patientOnboardingWorkflowId, (job) =>
      orchestrationIdOf(job, access, idHmacKey),
    ),
    /**
     * The page of the stack's receiver that the patient of a job returns to;
     * undefined for another exchange.
     */
    returnAddress: (jobId: string) =>
      target.stack === undefined
        ? undefined
        : `${target.stack.connection.receiverUrl}/return/${orchestrationIdOf(jobId, access, idHmacKey)}`,
    close: () => client.connection.close(),
  };
}

/**
 * Returns the handle for a job id or a workflow id; the workflow may not exist.
 */
const finder =
  <H extends WorkflowHandle>(
    client: Client,
    idOf: (key: string) => string,
    keyOf: (job: string) => string,
  ) =>
  (text: string) => {
    const workflowId = text.startsWith(idOf('')) ? text : idOf(keyOf(text));
    return { handle: client.workflow.getHandle(workflowId) as H, workflowId };
  };

/** Throws an error with the address when Temporal cannot be reached. */
export const connect = (temporal: TemporalConfig): Promise<TemporalClient> =>
  createTemporalClient(temporal).catch((error: unknown) => {
    throw new Error(
      `Temporal cannot be reached at ${temporal.TEMPORAL_ADDRESS}. Check that it is running and that TEMPORAL_ADDRESS is correct.`,
      { cause: error },
    );
  });

/**
 * The settings of the embedded stack, else those of the environment. Throws
 * ConfigError, UsageError.
 */
export async function orchestrationSettings(
  { stack }: Target,
  env: Env | undefined,
): Promise<OrchestrationSettings> {
  if (stack === undefined) return configuredSettings(env);
  return {
    temporal: await temporalOfStack(stack.dataDir, stack.connection, env),
    idHmacKey: (await ensureSecrets(stack.dataDir)).idHmacKey,
    access: accountAccess(stack.connection.accountId),
  };
}

function configuredSettings(env: Env | undefined): OrchestrationSettings {
  const { ID_HMAC_KEY, EXCHANGE_API_KEY, EXCHANGE_ACCOUNT_ID, ...temporal } =
    readConfig(
      [
        ...TEMPORAL_VARIABLES,
        'ID_HMAC_KEY',
        'EXCHANGE_API_KEY',
        'EXCHANGE_ACCOUNT_ID',
      ],
      env,
    );
  if (EXCHANGE_API_KEY === undefined && EXCHANGE_ACCOUNT_ID === undefined)
    throw new UsageError(
      "Onboardings use the worker's credential. Set EXCHANGE_ACCOUNT_ID or EXCHANGE_API_KEY to the worker's value.",
    );
  return {
    temporal,
    idHmacKey: ID_HMAC_KEY,
    access: configuredAccess({ EXCHANGE_API_KEY, EXCHANGE_ACCOUNT_ID }),
  };
}

export type BulkOnboardings = Awaited<ReturnType<typeof openBulkOnboardings>>;

/**
 * The bulk onboardings of an exchange in Temporal; calls throw when Temporal
 * cannot be reached. Connects to Temporal and the file store: those of the
 * embedded stack, else those of TEMPORAL_ADDRESS and ORCHESTRATOR_FILES. Throws
 * ConfigError, and an error with the address when Temporal cannot be reached.
 */
export async function openBulkOnboardings(target: Target, env?: Env) {
  const { temporal, idHmacKey, access } = await orchestrationSettings(
    target,
    env,
  );
  const storage = target.stack?.connection.storage;
  const address =
    storage?.orchestratorFiles ??
    readConfig(['ORCHESTRATOR_FILES'], env).ORCHESTRATOR_FILES;
  const keyRing = parseKeyRing(temporal.DATA_KEYS);
  /** The store of their files; the workers use the same store. */
  const files: FileStore = await openBlobStore(
    address,
    keyRing,
    'ORCHESTRATOR_FILES',
    storage?.s3,
  );
  const client = await connect(temporal);
  return {
    files,
    start: (request: BulkOnboardingRequest) =>
      client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        startBulkOnboarding(client, request, { exchange: access, idHmacKey }),
      ),
    find: finder<BulkOnboardingHandle>(
      client,
      bulkOnboardingWorkflowId,
      (job) => bulkJobKey(job, access, idHmacKey),
    ),
    close: () => client.connection.close(),
  };
}
