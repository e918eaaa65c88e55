import type { PatientOnboardingStatus } from '../../../contract/patient-onboarding.ts';

/** Markdown for the workflow's page in the Temporal UI: ids and states. */
export function onboardingDetails(status: PatientOnboardingStatus): string {
  return [
    `**${PHASES[status.phase]}**${status.problem === undefined ? '' : ` (${status.problem})`}`,
    '',
    '| Source | State | Reported by | Query |',
    '|---|---|---|---|',
    ...status.sources.map(
      ({ type, state, via, requestId }) => `| ${type} | ${state} | ${via ?? '–'} | ${requestId ?? '–'} |`,
    ),
    '',
    ...personLine(status),
    `Patient: ${status.patientId ?? '–'}${status.created === false ? ' (already existed)' : ''}`,
    `Cohorts: ${status.cohorts.length}. Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined ? '' : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
    status.nextStartAt === undefined ? '' : `Next start of rate-limited sources: ${status.nextStartAt}`,
  ].join('\n');
}

/** Omits the URL of the page, which is for the person only. */
function personLine({ phase, identity }: PatientOnboardingStatus): string[] {
  if (phase !== 'proving-identity' || identity === undefined) return [];
  const task = identity.state === 'to-verify' ? 'verify their identity' : 'authenticate with two factors';
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
