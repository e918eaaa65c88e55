import type { CohortMonitoringStatus } from '../../../contract/cohort-monitoring.ts';

/** What the Temporal UI shows of a run: ids, counts and states. */
export function detailsOf(status: CohortMonitoringStatus): string {
  const { state, kind, patients, started, failed, skipped, dueAt, notes } = status;
  const done = started + failed + skipped.alreadyAsked + skipped.optedOut + skipped.gone;
  return [
    `**${state}**: ${done} of ${patients} patients, ${kind}, due ${dueAt}`,
    `- queries started: ${started}`,
    `- skipped: ${skipped.alreadyAsked} asked in this period already, ${skipped.optedOut} opted out, ${skipped.gone} deleted`,
    `- failed: ${failed}`,
    ...notes.map((note) => `- ${note}`),
  ].join('\n');
}
