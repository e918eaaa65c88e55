import type { CohortMonitoringStatus } from '../../../contract/cohort-monitoring.ts';

/** Markdown for the workflow's page in the Temporal UI: ids, counts and states. */
export function monitoringDetails(status: CohortMonitoringStatus): string {
  const { state, kind, patients, started, failed, skipped, dueAt, notes } = status;
  const done = started + failed + skipped.alreadyAsked + skipped.optedOut + skipped.gone;
  return [
    `**${state}**: ${done} of ${patients} patients, ${kind}, due ${dueAt}`,
    `- queries started: ${started}`,
    `- skipped: ${skipped.alreadyAsked} already queried in this period, ${skipped.optedOut} opted out, ${skipped.gone} deleted`,
    `- failed: ${failed}`,
    ...notes.map((note) => `- ${note}`),
  ].join('\n');
}
