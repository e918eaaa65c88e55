import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { EndpointActivities } from '../../../activities/orchestrator/endpoints.ts';
import type { PatientOnboardingInput } from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { ORCHESTRATION_METADATA_KEY, TASK_QUEUES } from '../../../contract/temporal.ts';
import type { IdentityState } from './onboarding-state.ts';
import { onlySources } from './requested-sources.ts';

const shared: ActivityOptions = {
  taskQueue: TASK_QUEUES.orchestrator,
  // The client gives up a call after 20 s and says why.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
};

/**
 * They change something. Exchanges keep an idempotency key for 24 h, so no repeat comes later than that; a call under
 * way is let finish when the workflow is cancelled, for its outcome must be known to clean up after it.
 */
const writes = proxyActivities<EndpointActivities>({
  ...shared,
  scheduleToCloseTimeout: '23h',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
/** They can be left at any time, and the next poll makes up for a failed one. */
const reads = proxyActivities<EndpointActivities>({
  ...shared,
  scheduleToCloseTimeout: '2m',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});
/** Best effort, within a bounded time. */
const cleanUps = proxyActivities<EndpointActivities>({ ...shared, scheduleToCloseTimeout: '2m' });

/**
 * The calls of one onboarding. The ids of the writes are ours, not counted: they are what idempotency keys are made
 * of, and must mean the same call after a reset or continue-as-new.
 */
export function exchangeCalls(input: PatientOnboardingInput) {
  const { exchange, facilityId, patient, sources } = input;
  return {
    createPatient: () =>
      writes.createPatient.executeWithOptions(
        { activityId: 'create-patient', summary: 'Create the patient, or find it by its demographics' },
        [{ exchange, query: { facilityId }, body: patient }],
      ),
    addToCohorts: (patientId: string, cohortIds: string[]) =>
      writes.addPatientToCohorts.executeWithOptions(
        { activityId: 'add-to-cohorts', summary: `Add the patient to ${cohortIds.length} cohorts` },
        [{ exchange, params: { id: patientId }, body: { cohortIds } }],
      ),
    createIdentitySession: (patientId: string, redirectUrl: string) =>
      writes.createIdentitySession.executeWithOptions(
        { activityId: 'create-identity-session', summary: 'Have the person verify who they are' },
        [
          {
            exchange,
            body: {
              patientId,
              redirectUrl,
              metadata: { ...input.metadata, [ORCHESTRATION_METADATA_KEY]: input.orchestrationId },
            },
          },
        ],
      ),
    createChallenge: (body: { proofedIdentityId: string; redirectUrl: string }, challenge: number) =>
      writes.createAal2Challenge.executeWithOptions(
        { activityId: `create-challenge-${challenge}`, summary: 'Ask the person for two factors' },
        [{ exchange, body }],
      ),
    getIdentitySession: (id: string) =>
      reads.getIdentitySession.executeWithOptions({ summary: 'No webhook yet: look at the verification' }, [
        { exchange, params: { id } },
      ]),
    getChallenge: (id: string) =>
      reads.getAal2Challenge.executeWithOptions({ summary: 'Nobody came back yet: look at the challenge' }, [
        { exchange, params: { id } },
      ]),
    /** `start` counts the E2 calls of this onboarding from 1. */
    startQuery: (patientId: string, types: readonly SourceType[], start: number, identity?: IdentityState) =>
      writes.startNetworkQuery.executeWithOptions(
        { activityId: `start-query-${start}`, summary: `Start the network query: ${types.join(', ')}` },
        [
          {
            exchange,
            ...(identity === undefined
              ? { query: { patientId } }
              : { query: { patientId, purposeOfUse: 'ias' }, aal2Session: identity.aal2SessionId }),
            body: {
              sources: onlySources(sources, types),
              ...(identity !== undefined && { proofedIdentityId: identity.proofedIdentityId }),
              metadata: { ...input.metadata, [ORCHESTRATION_METADATA_KEY]: input.orchestrationId },
            },
          },
        ],
      ),
    getQuery: (requestId: string, why: string) =>
      reads.getNetworkQuery.executeWithOptions({ summary: why }, [{ exchange, params: { requestId } }]),
    listDocuments: (patientId: string) =>
      reads.listDocuments.executeWithOptions({ summary: 'List the patient’s documents' }, [
        { exchange, query: { patientId, output: 'dto' } },
      ]),
    cancelQuery: (requestId: string) =>
      cleanUps.cancelNetworkQuery.executeWithOptions(
        { activityId: `cancel-query-${requestId}`, summary: 'Cancel the query that still runs' },
        [{ exchange, params: { requestId } }],
      ),
  };
}

export type ExchangeCalls = ReturnType<typeof exchangeCalls>;
