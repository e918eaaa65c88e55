import type {
  NetworkQuerySignal,
  PatientOnboardingStatus,
  PatientOnboardingSummary,
} from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type { SourceFact } from './source-fact.ts';

export interface SourceRecord {
  type: SourceType;
  /** `limited`: asked for again later; `refused`: will not start. */
  start: 'to-start' | 'started' | 'limited' | 'refused';
  starts: number;
  attempts: number;
  requestId?: string;
  fact?: SourceFact;
  /** No longer waited for: the deadline is over, or the exchange does not know the query any more. */
  given?: 'timed-out' | 'lost';
  error?: string;
}

/** What is known of the person of an individual access. */
export interface IdentityState {
  session?: IdentityPage;
  proofedIdentityId?: string;
  challenge?: IdentityPage;
  /** Made so far. */
  challenges: number;
  aal2SessionId?: string;
  /** The person came back from a page, and it was not looked what came of it yet. */
  hasReturned?: boolean;
  /** The session that the person's browser brought then. */
  broughtSessionId?: string;
}

/** A page of the identity partner that the person is to open. */
export interface IdentityPage {
  /** Of the session or the challenge at the exchange; absent in runs that began before it was kept. */
  id?: string;
  url: string;
  expiresAtMs: number;
}

/** All that an orchestration knows; plain data of a few KB, carried over a continue-as-new. */
export interface OnboardingState {
  phase: PatientOnboardingStatus['phase'];
  patient?: { id: string; created: boolean };
  identity?: IdentityState;
  cohortIds: string[];
  requestIds: string[];
  sources: SourceRecord[];
  /** Events of queries whose E2 answer has not come yet. */
  buffered: NetworkQuerySignal[];
  seenMessageIds: string[];
  webhooksReceived: number;
  intakeMessageIds: string[];
  consolidated?: { atMs: number; url: string };
  documents?: PatientOnboardingSummary['documents'];
  /** E2 calls made. */
  starts: number;
  polls: number;
  pollsSinceStart: number;
  /** Answers in a row that a query is not known, by request id. */
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

/** Still to be waited for. */
export function isOpen(source: SourceRecord): boolean {
  if (source.fact !== undefined && source.fact.state !== 'running') return false;
  if (source.given !== undefined) return false;
  return source.fact !== undefined || source.start !== 'refused';
}
