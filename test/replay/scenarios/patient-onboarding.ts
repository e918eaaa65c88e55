import type { EndpointActivities } from '../../../src/activities/orchestrator/endpoints.ts';
import {
  DEFAULT_ONBOARDING_TIMING,
  type NetworkQuerySignal,
  type OnboardingTiming,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingInput,
} from '../../../src/contract/patient-onboarding.ts';
import { SOURCE_TYPES } from '../../../src/contract/primitives.ts';
import {
  patientOnboardingWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const COHORT_ID = '01900000-0000-7000-8000-0000000000c1';
const PATIENT_ID = '01900000-0000-7000-8000-0000000000b1';
const AT = '2026-11-21T12:00:00.000Z';

const input: PatientOnboardingInput = {
  orchestrationId: '0123456789abcdef0123456789abcdef',
  exchange: { credentialRef: `account/${ACCOUNT_ID}` },
  facilityId: '01900000-0000-7000-8000-0000000000f1',
  patient: {
    firstName: 'Test',
    lastName: 'Person',
    dob: '1980-01-01',
    genderAtBirth: 'F',
    address: {
      addressLine1: '1 Test Street',
      city: 'Austin',
      state: 'TX',
      zip: '78701',
      country: 'USA',
    },
  },
  cohortIds: [COHORT_ID],
  sources: [...SOURCE_TYPES],
  timing: DEFAULT_ONBOARDING_TIMING,
};

type SourceState = 'in-progress' | 'completed' | 'failed';
const query = (...states: [SourceState, SourceState, SourceState]) => ({
  requestId: REQUEST_ID,
  status: states.includes('in-progress') ? 'in-progress' : 'completed',
  sources: SOURCE_TYPES.map((type, index) => {
    const status = states[index] ?? 'in-progress';
    return {
      type,
      status,
      startedAt: AT,
      ...(status === 'in-progress' ? {} : { completedAt: AT }),
    };
  }),
  errors: [],
});
const running = query('in-progress', 'in-progress', 'in-progress');

const onboarding = (
  answers: Partial<EndpointActivities>,
  timing: Partial<OnboardingTiming> = {},
): Omit<Scenario, 'meanwhile'> => ({
  workflowType: WORKFLOW_TYPES.patientOnboarding,
  workflowId: patientOnboardingWorkflowId(input.orchestrationId),
  args: [{ ...input, timing: { ...DEFAULT_ONBOARDING_TIMING, ...timing } }],
  activities: {
    orchestrator: {
      createPatient: async () => ({ patientId: PATIENT_ID, created: true }),
      addPatientToCohorts: async () => ({ cohortIds: [COHORT_ID] }),
      startNetworkQuery: async () => running,
      listDocuments: async () => ({ total: 0, fileNames: [] }),
      ...answers,
    },
  },
});

const webhook = (
  source: (typeof SOURCE_TYPES)[number],
  status: 'completed' | 'failed',
): NetworkQuerySignal => ({
  messageId: `message-${source}`,
  requestId: REQUEST_ID,
  source,
  status,
  completedAt: AT,
});
const verification = (
  status: 'pending' | 'verified',
  more: { proofedIdentityId?: string } = {},
) => ({
  sessionId: REQUEST_ID,
  patientId: PATIENT_ID,
  status,
  expiresAt: AT,
  ...more,
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const patientOnboardingScenarios: Record<string, Scenario> = {
  /** One activity reads the outcome. */
  'patient-onboarding/webhooks-v2': {
    ...onboarding({}),
    args: [{ ...input, forgetsPerson: true }],
    activities: {
      orchestrator: {
        createPatient: async () => ({ patientId: PATIENT_ID, created: true }),
        addPatientToCohorts: async () => ({ cohortIds: [COHORT_ID] }),
        startNetworkQuery: async () => running,
        forgetRun: async () => undefined,
        readOutcome: async () => ({
          queries: [query('completed', 'failed', 'completed')],
          documents: { total: 0, fileNames: [] },
        }),
      },
    },
    async meanwhile(handle) {
      const { networkQueryEvent } = PATIENT_ONBOARDING_MESSAGES;
      await handle.signal(networkQueryEvent, webhook('hie', 'completed'));
      await pause(1_000);
      await handle.signal(networkQueryEvent, webhook('pharmacy', 'failed'));
      await handle.signal(networkQueryEvent, webhook('lab', 'completed'));
    },
  },
  /**
   * Its query had ended before the answer came; the documents are listed at the
   * end.
   */
  'patient-onboarding/documents-v1': {
    ...onboarding({
      startNetworkQuery: async () =>
        query('completed', 'completed', 'completed'),
      listDocuments: async () => ({ total: 2, fileNames: ['a.xml', 'b.pdf'] }),
    }),
    async meanwhile() {},
  },
  /**
   * One webhook comes twice and before the query's answer, the intake is
   * repeated.
   */
  'patient-onboarding/webhooks-v1': {
    ...onboarding({
      getNetworkQuery: inTurn(query('completed', 'failed', 'completed')),
    }),
    async meanwhile(handle) {
      const { networkQueryEvent, intakeReceived } = PATIENT_ONBOARDING_MESSAGES;
      await handle.signal(networkQueryEvent, webhook('hie', 'completed'));
      await handle.signal(networkQueryEvent, webhook('hie', 'completed'));
      await handle.signal(intakeReceived, { messageId: 'intake-1' });
      await pause(1_000);
      await handle.signal(networkQueryEvent, webhook('pharmacy', 'failed'));
      await pause(300);
      await handle.signal(networkQueryEvent, webhook('lab', 'completed'));
    },
  },
  'patient-onboarding/polled-v1': onboarding(
    {
      getNetworkQuery: inTurn(
        running,
        query('completed', 'in-progress', 'completed'),
        query('completed', 'completed', 'completed'),
      ),
    },
    { pollFirstMs: 500, pollMaxMs: 1_000 },
  ),
  /** Both proofs, and one more of each. */
  'patient-onboarding/identity-by-webhook-v1': {
    ...onboarding({
      createIdentitySession: async () => ({
        sessionId: REQUEST_ID,
        sessionUrl: 'https://identity.example.org/session',
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        status: 'pending' as const,
      }),
      createAal2Challenge: async () => ({
        challengeId: REQUEST_ID,
        challengeUrl: 'https://identity.example.org/challenge',
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        method: 'otp',
      }),
      startNetworkQuery: async () =>
        query('completed', 'completed', 'completed'),
    }),
    args: [{ ...input, ias: { redirectUrl: 'https://app.example.org/back' } }],
    async meanwhile(handle) {
      const { identityVerified, aal2Confirmed } = PATIENT_ONBOARDING_MESSAGES;
      await pause(500);
      for (const proofedIdentityId of [PATIENT_ID, REQUEST_ID])
        await handle.signal(identityVerified, { proofedIdentityId });
      await pause(500);
      for (const aal2SessionId of ['aal2_first', 'aal2_second'])
        await handle.signal(aal2Confirmed, { aal2SessionId });
    },
  },
  /**
   * Neither webhook nor return came: sessions and challenges are looked at, and
   * the first challenge fails.
   */
  'patient-onboarding/identity-polled-v1': {
    ...onboarding({
      createIdentitySession: async () => ({
        sessionId: REQUEST_ID,
        sessionUrl: 'https://identity.example.org/session',
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        status: 'pending' as const,
      }),
      getIdentitySession: inTurn(
        verification('pending'),
        verification('verified', { proofedIdentityId: PATIENT_ID }),
      ),
      createAal2Challenge: async () => ({
        challengeId: REQUEST_ID,
        challengeUrl: 'https://identity.example.org/challenge',
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        method: 'otp',
      }),
      getAal2Challenge: inTurn(
        { challengeId: REQUEST_ID, status: 'failed' as const, expiresAt: AT },
        {
          challengeId: REQUEST_ID,
          status: 'verified' as const,
          expiresAt: AT,
          aal2SessionId: 'aal2_first',
        },
      ),
      startNetworkQuery: async () =>
        query('completed', 'completed', 'completed'),
    }),
    args: [
      {
        ...input,
        ias: { redirectUrl: 'https://app.example.org/back' },
        timing: {
          ...DEFAULT_ONBOARDING_TIMING,
          pollFirstMs: 500,
          pollMaxMs: 1_000,
        },
      },
    ],
    async meanwhile(handle) {
      await pause(2_500);
      await handle.signal(PATIENT_ONBOARDING_MESSAGES.personReturned);
    },
  },
  'patient-onboarding/cancelled-v1': {
    ...onboarding({
      getNetworkQuery: inTurn(running),
      cancelNetworkQuery: inTurn(running),
    }),
    async meanwhile(handle) {
      await pause(1_500);
      await handle.cancel();
    },
  },
};
