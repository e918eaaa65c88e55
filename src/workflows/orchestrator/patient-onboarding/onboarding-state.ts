import type {
  NetworkQuerySignal,
  PatientOnboardingInput,
  PatientOnboardingStatus,
  PatientOnboardingSummary,
} from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type { SourceFact } from './source-fact.ts';

export interface SourceRecord {
  type: SourceType;
  /** `limited`: rate-limited, will be started again later; `refused`: will not start. */
  start: 'to-start' | 'started' | 'limited' | 'refused';
  starts: number;
  attempts: number;
  requestId?: string;
  fact?: SourceFact;
  /** Given up: the deadline has passed, or the exchange no longer knows the query. */
  given?: 'timed-out' | 'lost';
  error?: string;
}

/** The progress of the person's identity proof (individual access). */
export interface IdentityState {
  session?: IdentityPage;
  proofedIdentityId?: string;
  challenge?: IdentityPage;
  /** Number of challenges created so far. */
  challenges: number;
  aal2SessionId?: string;
  /** The person has returned from a page, and the exchange has not been polled since. */
  hasReturned?: boolean;
  /** The session id that the person's browser returned with. */
  broughtSessionId?: string;
}

/** A page of the identity partner for the person to open. */
export interface IdentityPage {
  /** Id of the session or challenge at the exchange. */
  id: string;
  url: string;
  expiresAtMs: number;
}

/** The complete state of an orchestration: plain data of a few KB, carried over a continue-as-new. */
export interface OnboardingState {
  phase: PatientOnboardingStatus['phase'];
  patient?: { id: string; created: boolean };
  identity?: IdentityState;
  cohortIds: string[];
  requestIds: string[];
  sources: SourceRecord[];
  /** Webhook events of queries whose E2 response has not arrived yet. */
  buffered: NetworkQuerySignal[];
  seenMessageIds: string[];
  webhooksReceived: number;
  intakeMessageIds: string[];
  consolidated?: { atMs: number; url: string };
  documents?: PatientOnboardingSummary['documents'];
  /** Number of E2 calls made. */
  starts: number;
  polls: number;
  pollsSinceStart: number;
  /** 404 responses in a row, by request id. */
  unknownAnswers: Record<string, number>;
  deadlineAtMs: number;
  nextPollAtMs?: number;
  nextStartAtMs?: number;
  problem?: string;
}

export const newOnboardingState = (types: readonly SourceType[], deadlineAtMs: number): OnboardingState => ({
  phase: 'creating-patient',
  cohortIds: [],
  requestIds: [],
  sources: types.map((type) => ({ type, start: 'to-start', starts: 0, attempts: 0 })),
  buffered: [],
  seenMessageIds: [],
  webhooksReceived: 0,
  intakeMessageIds: [],
  starts: 0,
  polls: 0,
  pollsSinceStart: 0,
  unknownAnswers: {},
  deadlineAtMs,
});

/** Whether the onboarding still waits for this source. */
export function isOpen(source: SourceRecord): boolean {
  if (source.fact !== undefined && source.fact.state !== 'running') return false;
  if (source.given !== undefined) return false;
  return source.fact !== undefined || source.start !== 'refused';
}

/** The workflow's signature, for the modules that continue it as new. */
export type PatientOnboardingWorkflow = (
  input: PatientOnboardingInput,
  carried?: OnboardingState,
) => Promise<PatientOnboardingSummary>;
