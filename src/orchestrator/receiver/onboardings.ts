import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import {
  BULK_ONBOARDING_MESSAGES,
  type BulkCreateSignal,
} from '../../contract/bulk-onboarding.ts';
import {
  type Aal2ConfirmedSignal,
  type ExchangeAccess,
  type IdentityVerifiedSignal,
  type NetworkQuerySignal,
  PATIENT_ONBOARDING_MESSAGES,
  type PersonReturnedSignal,
} from '../../contract/patient-onboarding.ts';
import {
  patientOnboardingWorkflowId,
  WORKFLOW_TYPES,
} from '../../contract/temporal.ts';
import { OPEN_RUNS } from '../../temporal/open-runs.ts';
import type { OnboardingRequest } from '../patient-onboarding/onboarding-request.ts';
import {
  orchestrationIdOf,
  startOnboarding,
} from '../patient-onboarding/start-onboarding.ts';

/** Senders of webhooks wait 15 s for a response. */
const TEMPORAL_TIMEOUT_MS = 5_000;

/**
 * The receiver's calls to Temporal. Each has a timeout of 5 s and throws when
 * Temporal cannot be reached. The `signal…` functions return false when no such
 * onboarding is running.
 */
export type ReceiverOnboardings = ReturnType<typeof createOnboardings>;

export function createOnboardings(
  client: Client,
  options: { exchange: ExchangeAccess; idHmacKey: string },
) {
  const bounded = <R>(call: () => Promise<R>): Promise<R> =>
    client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
  const signal = async (
    orchestrationId: string,
    name: string,
    event: object,
  ): Promise<boolean> => {
    const handle = client.workflow.getHandle(
      patientOnboardingWorkflowId(orchestrationId),
    );
    try {
      await bounded(() => handle.signal(name, event));
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  };
  return {
    /** A source of a query has ended. */
    signalSourceEnd: (orchestrationId: string, event: NetworkQuerySignal) =>
      signal(
        orchestrationId,
        PATIENT_ONBOARDING_MESSAGES.networkQueryEvent,
        event,
      ),
    /** The person is verified. */
    signalVerified: (orchestrationId: string, event: IdentityVerifiedSignal) =>
      signal(
        orchestrationId,
        PATIENT_ONBOARDING_MESSAGES.identityVerified,
        event,
      ),
    /**
     * The person's browser has returned from a page of the identity partner.
     */
    signalReturned: (orchestrationId: string, event: PersonReturnedSignal) =>
      signal(
        orchestrationId,
        PATIENT_ONBOARDING_MESSAGES.personReturned,
        event,
      ),
    /**
     * The person of this job's onboarding has authenticated with two factors.
     */
    signalConfirmed: (jobId: string, event: Aal2ConfirmedSignal) =>
      signal(
        orchestrationIdOf(jobId, options.exchange, options.idHmacKey),
        PATIENT_ONBOARDING_MESSAGES.aal2Confirmed,
        event,
      ),
    /**
     * A bulk create has changed its state. If no bulk onboarding is found to
     * signal, its next poll makes up for it.
     */
    signalBulkCreate: (event: BulkCreateSignal) =>
      bounded(() => signalBulkOnboarding(client, event)),
    /**
     * Starts the onboarding of this job, or signals the running one. Returns
     * its workflow id; undefined if it has another patient.
     */
    async start(
      request: OnboardingRequest,
      messageId: string,
    ): Promise<string | undefined> {
      const started = await bounded(() =>
        startOnboarding(client, request, {
          ...options,
          intakeMessageId: messageId,
        }),
      );
      return started.isOther ? undefined : started.workflowId;
    },
    async isReachable(): Promise<boolean> {
      try {
        await bounded(() => client.workflowService.getSystemInfo({}));
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** Temporal's visibility store finds a new search attribute with this delay. */
const VISIBILITY_LAG_MS = 1_000;

/**
 * Signals the bulk onboarding that waits for this request. E5 accepts no
 * metadata, so the webhook does not identify the workflow; the workflow is
 * found by the request id in its search attributes. Returns false when none was
 * found.
 */
async function signalBulkOnboarding(
  client: Client,
  event: BulkCreateSignal,
): Promise<boolean> {
  if (await signalWaiting(client, event)) return true;
  await sleep(VISIBILITY_LAG_MS);
  return signalWaiting(client, event);
}

async function signalWaiting(
  client: Client,
  event: BulkCreateSignal,
): Promise<boolean> {
  let found = false;
  for await (const { workflowId } of client.workflow.list({
    query: waitingFor(event.requestId),
  })) {
    try {
      await client.workflow
        .getHandle(workflowId)
        .signal(BULK_ONBOARDING_MESSAGES.bulkCreateEvent, event);
      found = true;
    } catch (error) {
      // The workflow has ended since the search.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return found;
}

/**
 * `requestId` has been validated, so it is safe to insert it into the query.
 */
const waitingFor = (requestId: string): string =>
  `WorkflowType = '${WORKFLOW_TYPES.bulkOnboarding}' AND RequestId = '${requestId}' AND ${OPEN_RUNS}`;
