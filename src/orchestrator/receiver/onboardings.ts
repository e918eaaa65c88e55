import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { BulkCreateSignal } from '../../contract/bulk-onboarding.ts';
import {
  type Aal2ConfirmedSignal,
  type ExchangeAccess,
  type IdentityVerifiedSignal,
  type NetworkQuerySignal,
  PATIENT_ONBOARDING_MESSAGES,
  type PersonReturnedSignal,
} from '../../contract/patient-onboarding.ts';
import { patientOnboardingWorkflowId } from '../../contract/temporal.ts';
import type { OnboardingRequest } from '../patient-onboarding/onboarding-request.ts';
import { orchestrationIdOf, startOnboarding } from '../patient-onboarding/start-onboarding.ts';
import { signalBulkOnboarding } from './signal-bulk-onboarding.ts';

/** Senders wait 15 s for an answer. */
const TEMPORAL_TIMEOUT_MS = 5_000;

/** What the receiver asks of Temporal; each call is bounded to 5 s and throws when Temporal cannot be reached. */
export interface Onboardings {
  /** False when no such onboarding is running. */
  tell(orchestrationId: string, event: NetworkQuerySignal): Promise<boolean>;
  /** The person is verified. False when no such onboarding is running. */
  tellVerified(orchestrationId: string, event: IdentityVerifiedSignal): Promise<boolean>;
  /** The person's browser came back from a page. False when no such onboarding is running. */
  tellReturned(orchestrationId: string, event: PersonReturnedSignal): Promise<boolean>;
  /** The person of this job's onboarding has shown two factors. False when no such onboarding is running. */
  tellConfirmed(jobId: string, event: Aal2ConfirmedSignal): Promise<boolean>;
  /** False when no running bulk onboarding is known to wait for this request; a poll then makes up for it. */
  tellBulk(event: BulkCreateSignal): Promise<boolean>;
  /** Starts the onboarding of this job, or tells the one that runs. Answers its workflow id. */
  start(request: OnboardingRequest, messageId: string): Promise<string>;
  isReachable(): Promise<boolean>;
}

export function createOnboardings(
  client: Client,
  options: { exchange: ExchangeAccess; idHmacKey: string },
): Onboardings {
  const bounded = <R>(call: () => Promise<R>): Promise<R> =>
    client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
  const signal = async (orchestrationId: string, name: string, event: object): Promise<boolean> => {
    const handle = client.workflow.getHandle(patientOnboardingWorkflowId(orchestrationId));
    try {
      await bounded(() => handle.signal(name, event));
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  };
  return {
    tell: (orchestrationId, event) =>
      signal(orchestrationId, PATIENT_ONBOARDING_MESSAGES.networkQueryEvent, event),
    tellVerified: (orchestrationId, event) =>
      signal(orchestrationId, PATIENT_ONBOARDING_MESSAGES.identityVerified, event),
    tellReturned: (orchestrationId, event) =>
      signal(orchestrationId, PATIENT_ONBOARDING_MESSAGES.personReturned, event),
    tellConfirmed: (jobId, event) =>
      signal(
        orchestrationIdOf(jobId, options.exchange, options.idHmacKey),
        PATIENT_ONBOARDING_MESSAGES.aal2Confirmed,
        event,
      ),
    tellBulk: (event) => bounded(() => signalBulkOnboarding(client, event)),
    async start(request, messageId) {
      const started = await bounded(() =>
        startOnboarding(client, request, { ...options, intakeMessageId: messageId }),
      );
      return started.workflowId;
    },
    async isReachable() {
      try {
        await bounded(() => client.workflowService.getSystemInfo({}));
        return true;
      } catch {
        return false;
      }
    },
  };
}
