import type { PatientOnboardingStatus } from '../../../contract/patient-onboarding.ts';

/** What the Temporal UI shows of a running onboarding: ids and states. */
export function detailsOf(status: PatientOnboardingStatus): string {
  return [
    `**${PHASES[status.phase]}**${status.problem === undefined ? '' : ` (${status.problem})`}`,
    '',
    '| Source | State | Learned by | Query |',
    '|---|---|---|---|',
    ...status.sources.map(
      ({ type, state, via, requestId }) => `| ${type} | ${state} | ${via ?? '–'} | ${requestId ?? '–'} |`,
    ),
    '',
    ...personLine(status),
    `Patient: ${status.patientId ?? '–'}${status.created === false ? ' (known before)' : ''}`,
    `Cohorts: ${status.cohorts.length}. Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined ? '' : `Next look without a webhook: ${status.nextPollAt}`,
    status.nextStartAt === undefined ? '' : `Rate-limited sources are asked again: ${status.nextStartAt}`,
  ].join('\n');
}

/** Not the page itself: it is for the person's eyes. */
function personLine({ phase, identity }: PatientOnboardingStatus): string[] {
  if (phase !== 'proving-identity' || identity === undefined) return [];
  const what = identity.state === 'to-verify' ? 'verify who they are' : 'show two factors';
  return [`The person is to ${what}, until ${identity.expiresAt ?? '–'}.`, ''];
}

const PHASES: Readonly<Record<PatientOnboardingStatus['phase'], string>> = {
  'creating-patient': 'Creating the patient',
  'assigning-cohorts': 'Adding the patient to cohorts',
  'proving-identity': 'Waiting for the person to prove who they are',
  querying: 'Waiting for the sources',
  cancelling: 'Cancelled; stopping the queries',
  ended: 'Ended',
};
