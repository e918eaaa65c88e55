import type {
  OnboardedSource,
  PatientOnboardingStatus,
} from '../../../contract/patient-onboarding.ts';
import type { OnboardingState } from './onboarding.ts';
import {
  onboardingOutcome,
  onboardingStatus,
  onboardingSummary,
} from './report.ts';

/**
 * Markdown for the workflow's page in the Temporal UI: how it stands, each
 * source with its reason, and what to type next.
 */
export function onboardingDetails(state: OnboardingState): string {
  const status = onboardingStatus(state);
  const ends =
    status.phase === 'ended' ? onboardingSummary(state).sources : undefined;
  return [
    `**${ends === undefined ? PHASES[status.phase] : endOf(state, ends)}**${status.problem === undefined ? '' : ` (${status.problem})`}`,
    '',
    ...status.sources.map((source) => sourceLine(source, ends)),
    '',
    ...personLine(status),
    `Patient: ${status.patientId ?? '–'}${status.created === false ? ' (already existed)' : ''}. Cohorts: ${status.cohorts.join(', ') || '–'}.`,
    `Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined
      ? ''
      : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
    status.nextStartAt === undefined
      ? ''
      : `Next start of rate-limited sources: ${status.nextStartAt}`,
    '',
    ...nextSteps(status, ends),
  ].join('\n');
}

function endOf(
  state: OnboardingState,
  ends: readonly OnboardedSource[],
): string {
  const completed = ends.filter(
    ({ outcome }) => outcome === 'completed',
  ).length;
  return `Ended as ${onboardingOutcome(state)}: ${completed} of ${ends.length} sources completed`;
}

type SourceStatus = PatientOnboardingStatus['sources'][number];

function sourceLine(
  { type, state, via, requestId }: SourceStatus,
  ends?: readonly OnboardedSource[],
): string {
  const error = ends?.find((source) => source.type === type)?.error;
  const facts = [
    state,
    ...(error === undefined ? [] : [error]),
    ...(via === undefined ? [] : [`reported by ${via}`]),
    ...(requestId === undefined ? [] : [`query ${requestId}`]),
  ];
  return `- **${type}**: ${facts.join(' · ')}`;
}

/** The commands to type, as list items. */
function nextSteps(
  status: PatientOnboardingStatus,
  ends?: readonly OnboardedSource[],
): string[] {
  const command = (what: string, text: string) =>
    `- ${what}: \`npm run starter -- ${text}\``;
  if (ends === undefined)
    return status.requestIds.map((requestId) =>
      command('Timeline of the query', `status ${requestId}`),
    );
  const open = status.sources.filter(({ state }) => state !== 'completed');
  return open.map(({ type, requestId }) =>
    requestId === undefined
      ? command(
          `Query ${type}`,
          `query ${status.patientId ?? '<patientId>'} --sources ${type}`,
        )
      : command(`Query ${type} again`, `retry ${requestId} ${type}`),
  );
}

/** Omits the URL of the page, which is for the person only. */
function personLine({ phase, identity }: PatientOnboardingStatus): string[] {
  if (phase !== 'proving-identity' || identity === undefined) return [];
  const task =
    identity.state === 'to-verify'
      ? 'verify their identity'
      : 'authenticate with two factors';
  return [`The person must ${task} by ${identity.expiresAt ?? '–'}.`, ''];
}

const PHASES: Readonly<Record<PatientOnboardingStatus['phase'], string>> = {
  'creating-patient': 'Creating the patient',
  'assigning-cohorts': 'Adding the patient to cohorts',
  'proving-identity': 'Waiting for the person to prove their identity',
  querying: 'Waiting for the sources',
  cancelling: 'Cancelled; stopping the queries',
  ended: 'Ended',
};
