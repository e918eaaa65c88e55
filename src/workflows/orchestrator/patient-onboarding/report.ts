import type {
  OnboardedSource,
  PatientOnboardingStatus,
  PatientOnboardingSummary,
} from '../../../contract/patient-onboarding.ts';
import { instant } from '../../shared/work-in-pages.ts';
import {
  type IdentityState,
  isOpen,
  type OnboardingState,
  type SourceRecord,
} from './onboarding.ts';

/** The answer to the query `status`. */
export function onboardingStatus(
  state: OnboardingState,
): PatientOnboardingStatus {
  const waits = state.sources.some(isOpen);
  return {
    phase: state.phase,
    patientId: state.patient?.id,
    created: state.patient?.created,
    cohorts: state.cohortIds,
    requestIds: state.requestIds,
    sources: state.sources.map((source) => ({
      type: source.type,
      state: isOpen(source) ? openState(source) : sourceOutcome(source),
      requestId: source.requestId,
      via: source.fact?.via,
    })),
    ...(state.identity && { identity: identityOf(state.identity) }),
    webhooksReceived: state.webhooksReceived,
    polls: state.polls,
    intakes: state.intakeMessageIds.length,
    nextPollAt: waits ? instant(state.nextPollAtMs) : undefined,
    nextStartAt: state.sources.some(
      (source) => isOpen(source) && source.start === 'limited',
    )
      ? instant(state.nextStartAtMs)
      : undefined,
    deadlineAt: new Date(state.deadlineAtMs).toISOString(),
    problem: state.problem,
  };
}

function identityOf(
  identity: IdentityState,
): PatientOnboardingStatus['identity'] {
  if (identity.aal2SessionId !== undefined) return { state: 'confirmed' };
  const isVerified = identity.proofedIdentityId !== undefined;
  const page = isVerified ? identity.challenge : identity.session;
  return {
    state: isVerified ? 'to-confirm' : 'to-verify',
    url: page?.url,
    expiresAt: instant(page?.expiresAtMs),
  };
}

/**
 * The workflow's result. Throws if the patient has not been created; no path of
 * the workflow leads there.
 */
export function onboardingSummary(
  state: OnboardingState,
): PatientOnboardingSummary {
  if (state.patient === undefined)
    throw new Error('The summary requires a patient');
  return {
    patientId: state.patient.id,
    created: state.patient.created,
    cohorts: state.cohortIds,
    requestIds: state.requestIds,
    status: onboardingOutcome(state),
    sources: state.sources.map(endOf),
    consolidatedDataUrl: state.consolidated?.url,
    documents: state.documents,
    webhooksReceived: state.webhooksReceived,
  };
}

/**
 * Completed if all sources completed, failed if none did, partial otherwise.
 */
export function onboardingOutcome({
  sources,
}: OnboardingState): PatientOnboardingSummary['status'] {
  const completed = sources.filter(
    (source) => sourceOutcome(source) === 'completed',
  ).length;
  if (completed === sources.length) return 'completed';
  return completed === 0 ? 'failed' : 'partial';
}

function endOf(source: SourceRecord): OnboardedSource {
  const outcome = sourceOutcome(source);
  const fact =
    outcome === 'completed' || outcome === 'failed' ? source.fact : undefined;
  return {
    type: source.type,
    outcome,
    attempts: source.attempts,
    starts: source.starts,
    via: fact?.via,
    completedAt: instant(fact?.atMs),
    error:
      outcome === 'completed' ? undefined : (source.error ?? REASONS[outcome]),
  };
}

const REASONS: Readonly<
  Record<Exclude<OnboardedSource['outcome'], 'completed'>, string>
> = {
  failed: 'the source failed; see the timeline of the query',
  'not-started': 'the query was not started',
  'timed-out': 'no outcome before the deadline',
};

function sourceOutcome(source: SourceRecord): OnboardedSource['outcome'] {
  if (source.fact !== undefined && source.fact.state !== 'running')
    return source.fact.state;
  if (source.given === 'lost') return 'failed';
  if (source.given === 'timed-out' && source.start === 'started')
    return 'timed-out';
  return 'not-started';
}

function openState(source: SourceRecord): 'to-start' | 'limited' | 'running' {
  if (
    source.fact === undefined &&
    (source.start === 'to-start' || source.start === 'limited')
  )
    return source.start;
  return 'running';
}
