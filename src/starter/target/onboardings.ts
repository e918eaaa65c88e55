import { readConfig } from '../../config.ts';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import { patientOnboardingWorkflowId } from '../../contract/temporal.ts';
import { ensureSecrets } from '../../embedded/stack-secrets.ts';
import { accountAccess, configuredAccess } from '../../orchestrator/client/credentials.ts';
import type { OnboardingRequest } from '../../orchestrator/patient-onboarding/onboarding-request.ts';
import {
  type OnboardingHandle,
  orchestrationIdOf,
  type StartedOnboarding,
  startOnboarding,
} from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import {
  createTemporalClient,
  TEMPORAL_VARIABLES,
  type TemporalClient,
  type TemporalConfig,
} from '../../temporal/client.ts';
import { UsageError } from '../errors.ts';
import type { Env, Target } from './target.ts';

/** The onboardings that Temporal holds for an exchange. Calls throw when Temporal cannot be reached. */
export interface Onboardings {
  start(request: OnboardingRequest): Promise<StartedOnboarding>;
  /** By the caller's job id, or by a workflow id. It need not exist. */
  find(jobOrWorkflowId: string): { handle: OnboardingHandle; workflowId: string };
  /** Where the receiver of the stack takes in the person of a job's onboarding; undefined for another exchange. */
  returnAddress(jobId: string): string | undefined;
  close(): Promise<void>;
}

export const START_TIMEOUT_MS = 15_000;

/** What reaches the orchestrations of an exchange. */
export interface OrchestrationSettings {
  temporal: TemporalConfig;
  idHmacKey: string;
  access: ExchangeAccess;
}

/**
 * Of the embedded stack by its data folder, else by TEMPORAL_ADDRESS, DATA_KEYS and so on. Throws ConfigError, and an
 * error that names the address when Temporal cannot be reached.
 */
export async function openOnboardings(target: Target, env?: Env): Promise<Onboardings> {
  const { temporal, idHmacKey, access } = await orchestrationSettings(target, env);
  const client = await connect(temporal);
  return {
    start: (request) =>
      client.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        startOnboarding(client, request, { exchange: access, idHmacKey }),
      ),
    find(jobOrWorkflowId) {
      const workflowId = isWorkflowId(jobOrWorkflowId)
        ? jobOrWorkflowId
        : patientOnboardingWorkflowId(orchestrationIdOf(jobOrWorkflowId, access, idHmacKey));
      return { handle: client.workflow.getHandle(workflowId) as OnboardingHandle, workflowId };
    },
    returnAddress: (jobId) =>
      target.stack === undefined
        ? undefined
        : `${target.stack.connection.receiverUrl}/return/${orchestrationIdOf(jobId, access, idHmacKey)}`,
    close: () => client.connection.close(),
  };
}

const isWorkflowId = (text: string): boolean => text.startsWith(patientOnboardingWorkflowId(''));

/** Throws an error that names the address when Temporal cannot be reached. */
export const connect = (temporal: TemporalConfig): Promise<TemporalClient> =>
  createTemporalClient(temporal).catch((error: unknown) => {
    throw new Error(`Temporal cannot be reached at ${temporal.TEMPORAL_ADDRESS}`, { cause: error });
  });

/** Of the embedded stack by its data folder, else by the environment. Throws ConfigError, UsageError. */
export async function orchestrationSettings(
  { stack }: Target,
  env: Env | undefined,
): Promise<OrchestrationSettings> {
  if (stack === undefined) return configuredSettings(env);
  const { dataKeys, idHmacKey } = await ensureSecrets(stack.dataDir);
  const { temporalAddress, temporalNamespace, accountId } = stack.connection;
  return {
    // An outside cluster that the stack was given may want a key, which is nowhere in its files.
    temporal: {
      ...readConfig(['TEMPORAL_API_KEY', 'TEMPORAL_TLS'], env),
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: temporalNamespace,
      DATA_KEYS: dataKeys,
    },
    idHmacKey,
    access: accountAccess(accountId),
  };
}

function configuredSettings(env: Env | undefined): OrchestrationSettings {
  const { ID_HMAC_KEY, EXCHANGE_API_KEY, EXCHANGE_ACCOUNT_ID, ...temporal } = readConfig(
    [...TEMPORAL_VARIABLES, 'ID_HMAC_KEY', 'EXCHANGE_API_KEY', 'EXCHANGE_ACCOUNT_ID'],
    env,
  );
  if (EXCHANGE_API_KEY === undefined && EXCHANGE_ACCOUNT_ID === undefined)
    throw new UsageError(
      'Onboardings run under the worker’s credential: set EXCHANGE_ACCOUNT_ID or EXCHANGE_API_KEY as the worker has it.',
    );
  return {
    temporal,
    idHmacKey: ID_HMAC_KEY,
    access: configuredAccess({ EXCHANGE_API_KEY, EXCHANGE_ACCOUNT_ID }),
  };
}
