import type { OnboardedPatient } from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { ORCHESTRATION_METADATA_KEY } from '../../../contract/temporal.ts';
import { proxyEndpoints } from '../endpoint-proxies.ts';
import type { IdentityState, OnboardingRunInput } from './onboarding.ts';
import { onlySources } from './requested-sources.ts';

const { reads, writes } = proxyEndpoints();

/**
 * The exchange operations that one onboarding uses. A failed read is made up
 * for by the next poll.
 */
export function exchangeCalls(input: OnboardingRunInput) {
  const { exchange, facilityId, sources } = input;
  return {
    createPatient: (patient: OnboardedPatient) =>
      writes('create-patient', {
        summary: 'Create the patient, or find it by its demographics',
      }).createPatient({ exchange, query: { facilityId }, body: patient }),
    addToCohorts: (patientId: string, cohortIds: string[]) =>
      writes('add-to-cohorts', {
        summary: `Add the patient to ${cohortIds.length} cohorts`,
      }).addPatientToCohorts({
        exchange,
        params: { id: patientId },
        body: { cohortIds },
      }),
    createIdentitySession: (patientId: string, redirectUrl: string) =>
      writes('create-identity-session', {
        summary: 'Create a session to verify the person’s identity',
      }).createIdentitySession({
        exchange,
        body: {
          patientId,
          redirectUrl,
          metadata: {
            ...input.metadata,
            [ORCHESTRATION_METADATA_KEY]: input.orchestrationId,
          },
        },
      }),
    createChallenge: (
      body: { proofedIdentityId: string; redirectUrl: string },
      challenge: number,
    ) =>
      writes(`create-challenge-${challenge}`, {
        summary: 'Create a two-factor challenge for the person',
      }).createAal2Challenge({ exchange, body }),
    getIdentitySession: (id: string) =>
      reads.getIdentitySession.executeWithOptions(
        { summary: 'No webhook yet: poll the verification' },
        [{ exchange, params: { id } }],
      ),
    getChallenge: (id: string) =>
      reads.getAal2Challenge.executeWithOptions(
        { summary: 'Person has not returned yet: poll the challenge' },
        [{ exchange, params: { id } }],
      ),
    /** `start` counts the E2 calls of this onboarding from 1. */
    startQuery: (
      patientId: string,
      types: readonly SourceType[],
      start: number,
      identity?: IdentityState,
    ) =>
      writes(`start-query-${start}`, {
        summary: `Start the network query: ${types.join(', ')}`,
      }).startNetworkQuery({
        exchange,
        ...(identity === undefined
          ? { query: { patientId } }
          : {
              query: { patientId, purposeOfUse: 'ias' },
              aal2Session: identity.aal2SessionId,
            }),
        body: {
          sources: onlySources(sources, types),
          ...(identity !== undefined && {
            proofedIdentityId: identity.proofedIdentityId,
          }),
          metadata: {
            ...input.metadata,
            [ORCHESTRATION_METADATA_KEY]: input.orchestrationId,
          },
        },
      }),
    getQuery: (requestId: string, why: string) =>
      reads.getNetworkQuery.executeWithOptions({ summary: why }, [
        { exchange, params: { requestId } },
      ]),
    listDocuments: (patientId: string) =>
      reads.listDocuments.executeWithOptions(
        { summary: 'List the patient’s documents' },
        [{ exchange, query: { patientId, output: 'dto' } }],
      ),
    cancelQuery: (requestId: string) =>
      writes(`cancel-query-${requestId}`, {
        summary: 'Cancel the running query',
        scheduleToCloseTimeout: '2m',
      }).cancelNetworkQuery({ exchange, params: { requestId } }),
  };
}

export type ExchangeCalls = ReturnType<typeof exchangeCalls>;
