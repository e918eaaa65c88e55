import {
  DEFAULT_ONBOARDING_TIMING,
  type NetworkQuerySignal,
  type OnboardingTiming,
  type PatientOnboardingInput,
} from '../../src/contract/patient-onboarding.ts';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { QueryReport } from '../../src/workflows/orchestrator/patient-onboarding/source-fact.ts';

export const REQUEST_ID = '00000000-0000-4000-8000-000000000001';
export const RESTART_ID = '00000000-0000-4000-8000-000000000002';
export const STARTED_AT = '2026-01-01T00:00:00.000Z';
export const T0 = Date.parse(STARTED_AT);
export const at = (minutes: number): string =>
  new Date(T0 + minutes * 60_000).toISOString();

/**
 * What differs from the usual input; what `timing` leaves out is the default.
 */
export type OnboardingChanges = Partial<
  Omit<PatientOnboardingInput, 'timing'>
> & {
  timing?: Partial<OnboardingTiming>;
};

export const onboardingInput = ({
  timing,
  ...overrides
}: OnboardingChanges = {}): PatientOnboardingInput => ({
  orchestrationId: 'abc123',
  forgetsPerson: true,
  exchange: { credentialRef: 'api-key' },
  facilityId: 'facility-1',
  patient: {
    firstName: 'Jane',
    lastName: 'Smith',
    dob: '1990-01-01',
    genderAtBirth: 'F',
    address: [
      { addressLine1: '1 Main St', city: 'Boston', state: 'MA', zip: '02110' },
    ],
  },
  sources: {
    hie: { enabled: true },
    pharmacy: { enabled: true, realtime: true },
    lab: { enabled: true },
  },
  timing: { ...DEFAULT_ONBOARDING_TIMING, ...timing },
  ...overrides,
});

export const queryAnswer = (
  sources: QueryReport['sources'],
  {
    requestId = REQUEST_ID,
    status = 'in-progress',
    errors = [] as QueryReport['errors'],
  } = {},
): QueryReport => ({ requestId, status, sources, errors });

export const attempt = (
  type: SourceType,
  status: string,
  startedMinute = 0,
  completedMinute?: number,
) => ({
  type,
  status,
  startedAt: at(startedMinute),
  completedAt: completedMinute === undefined ? undefined : at(completedMinute),
});

export const allRunning = (requestId = REQUEST_ID): QueryReport =>
  queryAnswer(
    (['hie', 'pharmacy', 'lab'] as const).map((type) =>
      attempt(type, 'processing'),
    ),
    { requestId, status: 'processing' },
  );

export const ended = (
  source: SourceType,
  status: 'completed' | 'failed',
  minute: number,
  overrides: Partial<NetworkQuerySignal> = {},
): NetworkQuerySignal => ({
  messageId: `${source}-${status}-${minute}`,
  requestId: REQUEST_ID,
  source,
  status,
  completedAt: at(minute),
  consolidatedDataUrl: `https://exchange.test/data/${minute}`,
  ...overrides,
});
