import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  DEFAULT_ONBOARDING_TIMING,
  type ExchangeAccess,
  type IntakeSignal,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
  type PatientOnboardingSummary,
} from '../../contract/patient-onboarding.ts';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import {
  PRIORITY,
  patientOnboardingWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../contract/temporal.ts';
import { asCode } from '../../lib/escape.ts';
import { opaqueId } from '../../temporal/client.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import { accountOf } from '../client/credentials.ts';
import { memoOfEarlier } from '../memo-of-earlier.ts';
import { type OnboardingRequest, sourcesOf } from './onboarding-request.ts';

export interface StartOnboardingOptions {
  exchange: ExchangeAccess;
  /** ID_HMAC_KEY */
  idHmacKey: string;
  /**
   * Set for a request from intake: signals the onboarding, also when it is
   * already running.
   */
  intakeMessageId?: string;
}

export type OnboardingHandle = WorkflowHandle<
  (input: PatientOnboardingInput) => Promise<PatientOnboardingSummary>
>;

export interface StartedOnboarding {
  handle: OnboardingHandle;
  workflowId: string;
  orchestrationId: string;
  /**
   * False when this job was started before; `handle` then refers to that
   * onboarding, running or ended.
   */
  isNew: boolean;
  /**
   * This job was started before for another facility or patient, or other data
   * of one; nothing came of this start.
   */
  isOther: boolean;
}

/**
 * Starts the onboarding of one job, once: the same job id of the same account
 * leads to the same workflow, as long as Temporal keeps it. The workflow id is
 * derived by HMAC, because a job id may contain a record number. Throws when
 * Temporal cannot be reached.
 */
export async function startOnboarding(
  client: Client,
  request: OnboardingRequest,
  { exchange, idHmacKey, intakeMessageId }: StartOnboardingOptions,
): Promise<StartedOnboarding> {
  const orchestrationId = orchestrationIdOf(request.jobId, exchange, idHmacKey);
  const workflowId = patientOnboardingWorkflowId(orchestrationId);
  // Lets us compare two starts of a job without a worker; encrypted like every
  // payload.
  const memo = {
    patient: opaqueId(
      idHmacKey,
      'onboarded',
      inOrder([request.patient, request.facilityId]),
    ),
  };
  const options = {
    ...startOptions(request, { exchange, orchestrationId }),
    memo,
  };
  const handle = client.workflow.getHandle(workflowId) as OnboardingHandle;
  const started = { handle, workflowId, orchestrationId };
  // What 0.1.0 started has no memo.
  const isOther = ({ patient = memo.patient }: Record<string, unknown>) =>
    patient !== memo.patient;
  const earlier = await memoOfEarlier(handle);
  if (earlier !== undefined) {
    if (intakeMessageId !== undefined && !isOther(earlier))
      await signalIntake(handle, intakeMessageId);
    return { ...started, isNew: false, isOther: isOther(earlier) };
  }
  const start = () =>
    intakeMessageId === undefined
      ? client.workflow.start(WORKFLOW_TYPES.patientOnboarding, {
          ...options,
          workflowId,
        })
      : client.workflow.signalWithStart(WORKFLOW_TYPES.patientOnboarding, {
          ...options,
          workflowId,
          signal: PATIENT_ONBOARDING_MESSAGES.intakeReceived,
          signalArgs: [{ messageId: intakeMessageId }],
        });
  const isNew = await start().then(
    () => true,
    (error: unknown) => {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    },
  );
  // A signal does not tell whether it started the workflow: another process may
  // have started it at the same time.
  const { memo: kept = {} } = await handle.describe();
  return { ...started, isNew, isOther: isOther(kept) };
}

/** Signals an onboarding that runs; one that has ended needs no intake. */
async function signalIntake(
  handle: OnboardingHandle,
  messageId: string,
): Promise<void> {
  const intake: IntakeSignal = { messageId };
  await handle
    .signal(PATIENT_ONBOARDING_MESSAGES.intakeReceived, intake)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

/** JSON in an order of its own: a sender may order the members anew. */
function inOrder(job: object): string {
  const names = new Set<string>();
  JSON.stringify(job, (name, value: unknown) => names.add(name) && value);
  return JSON.stringify(job, [...names].sort());
}

export const orchestrationIdOf = (
  jobId: string,
  exchange: ExchangeAccess,
  idHmacKey: string,
): string =>
  opaqueId(idHmacKey, 'onboarding-job', `${exchange.credentialRef} ${jobId}`);

function startOptions(
  { jobId: _, ...request }: OnboardingRequest,
  {
    exchange,
    orchestrationId,
  }: { exchange: ExchangeAccess; orchestrationId: string },
) {
  const { facilityId, cohortIds, timing } = request;
  const sources = sourcesOf(request);
  const types = sourceNames(sources);
  const accountId = accountOf(exchange);
  const input: PatientOnboardingInput = {
    ...request,
    orchestrationId,
    exchange,
    sources,
    timing: { ...DEFAULT_ONBOARDING_TIMING, ...timing },
    forgetsPerson: true,
  };
  return {
    taskQueue: TASK_QUEUES.orchestrator,
    args: [input] as [PatientOnboardingInput],
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
    priority: { priorityKey: PRIORITY.interactive, fairnessKey: accountId },
    staticSummary: `Onboard a patient: ${types.join(', ')}`,
    staticDetails: [
      'Creates the patient in the exchange, adds the patient to cohorts, starts a network query and waits for the webhook',
      'of each source. Polling makes up for lost webhooks.',
      '',
      `Facility ${asCode(facilityId)}; cohorts: ${cohortIds?.map(asCode).join(', ') || 'none'}.`,
    ].join('\n'),
    typedSearchAttributes: [
      ...(accountId === undefined
        ? []
        : [{ key: searchAttribute.accountId, value: accountId }]),
      { key: searchAttribute.sources, value: types },
    ],
  };
}

const sourceNames = (
  sources: PatientOnboardingInput['sources'],
): SourceType[] =>
  SOURCE_TYPES.filter((type) =>
    Array.isArray(sources)
      ? sources.includes(type)
      : sources[type]?.enabled === true,
  );
