import type {
  OnboardedSource,
  PatientOnboardingStatus,
  PatientOnboardingSummary,
} from '../../../contract/patient-onboarding.ts';
import { type IdentityState, isOpen, type OnboardingState, type SourceRecord } from './onboarding-state.ts';

/** The answer to the query `status`. */
export function statusOf(state: OnboardingState): PatientOnboardingStatus {
  const waits = state.sources.some(isOpen);
  return {
    phase: state.phase,
    patientId: state.patient?.id,
    created: state.patient?.created,
    cohorts: state.cohortIds,
    requestIds: state.requestIds,
    sources: state.sources.map((source) => ({
      type: source.type,
      state: isOpen(source) ? openState(source) : outcomeOf(source),
      requestId: source.requestId,
      via: source.fact?.via,
    })),
    ...(state.identity && { identity: identityOf(state.identity) }),
    webhooksReceived: state.webhooksReceived,
    polls: state.polls,
    intakes: state.intakeMessageIds.length,
    nextPollAt: waits ? instant(state.nextPollAtMs) : undefined,
    nextStartAt: state.sources.some((source) => isOpen(source) && source.start === 'limited')
      ? instant(state.nextStartAtMs)
      : undefined,
    deadlineAt: new Date(state.deadlineAtMs).toISOString(),
    problem: state.problem,
  };
}

function identityOf(identity: IdentityState): PatientOnboardingStatus['identity'] {
  if (identity.aal2SessionId !== undefined) return { state: 'confirmed' };
  const isVerified = identity.proofedIdentityId !== undefined;
  const page = isVerified ? identity.challenge : identity.session;
  return {
    state: isVerified ? 'to-confirm' : 'to-verify',
    url: page?.url,
    expiresAt: instant(page?.expiresAtMs),
  };
}

/** What the workflow ends with. Throws when there is no patient yet: no path of the workflow leads there. */
export function summaryOf(state: OnboardingState): PatientOnboardingSummary {
  if (state.patient === undefined) throw new Error('There is no summary before the patient');
  return {
    patientId: state.patient.id,
    created: state.patient.created,
    cohorts: state.cohortIds,
    requestIds: state.requestIds,
    status: overallStatus(state),
    sources: state.sources.map(endOf),
    consolidatedDataUrl: state.consolidated?.url,
    documents: state.documents,
    webhooksReceived: state.webhooksReceived,
  };
}

/** All completed, none completed, or in between; a source that never started counts as not completed. */
export function overallStatus({ sources }: OnboardingState): PatientOnboardingSummary['status'] {
  const completed = sources.filter((source) => outcomeOf(source) === 'completed').length;
  if (completed === sources.length) return 'completed';
  return completed === 0 ? 'failed' : 'partial';
}

function endOf(source: SourceRecord): OnboardedSource {
  const outcome = outcomeOf(source);
  const told = outcome === 'completed' || outcome === 'failed' ? source.fact : undefined;
  return {
    type: source.type,
    outcome,
    attempts: source.attempts,
    starts: source.starts,
    via: told?.via,
    completedAt: instant(told?.atMs),
    error: outcome === 'completed' ? undefined : (source.error ?? REASONS[outcome]),
  };
}

const REASONS: Readonly<Record<Exclude<OnboardedSource['outcome'], 'completed'>, string>> = {
  failed: 'the source failed; the timeline of the query says why',
  'not-started': 'it was not started',
  'timed-out': 'no outcome before the deadline',
};

function outcomeOf(source: SourceRecord): OnboardedSource['outcome'] {
  if (source.fact !== undefined && source.fact.state !== 'running') return source.fact.state;
  if (source.given === 'lost') return 'failed';
  if (source.given === 'timed-out' && source.start === 'started') return 'timed-out';
  return 'not-started';
}

function openState(source: SourceRecord): 'to-start' | 'limited' | 'running' {
  if (source.fact === undefined && (source.start === 'to-start' || source.start === 'limited'))
    return source.start;
  return 'running';
}

const instant = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();
