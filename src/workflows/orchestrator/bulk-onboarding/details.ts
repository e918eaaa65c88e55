import type { BulkOnboardingStatus } from '../../../contract/bulk-onboarding.ts';

/**
 * Markdown for the workflow's page in the Temporal UI: ids, states and counts.
 */
export function bulkOnboardingDetails(status: BulkOnboardingStatus): string {
  const { counts, requestIds, problem, rowsPerSecond, secondsLeft } = status;
  const heading = status.paused ? 'Paused' : PHASES[status.phase];
  return [
    `**${heading}**${problem === undefined ? '' : ` (${problem})`}`,
    '',
    `\`${bar(counts.rows === 0 ? 0 : counts.handled / counts.rows)}\` ${counts.handled} of ${counts.rows} rows`,
    rowsPerSecond === undefined
      ? ''
      : `${Math.round(rowsPerSecond)} rows/s, ${secondsLeft ?? '?'} s left`,
    '',
    `Created: ${counts.created}. Updated: ${counts.updated}. Failed: ${counts.failed}.`,
    '',
    `Request: ${requestIds.at(-1) ?? '–'}${requestIds.length > 1 ? ` (number ${requestIds.length})` : ''}`,
    `Dry run: ${status.dryRun ? 'yes' : 'no'}. Webhooks: ${status.webhooksReceived}. Polls: ${status.polls}.`,
    status.nextPollAt === undefined
      ? ''
      : `Next poll, unless a webhook arrives: ${status.nextPollAt}`,
  ].join('\n');
}

const WIDTH = 30;

function bar(fraction: number): string {
  const full = Math.round(Math.min(1, fraction) * WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${Math.floor(fraction * 100)} %`;
}

const PHASES: Readonly<Record<BulkOnboardingStatus['phase'], string>> = {
  requesting: 'Requesting an upload URL',
  uploading: 'Uploading the file',
  processing: 'The exchange is processing the rows',
  'reading-result': 'Reading the result',
  cancelling: 'Cancelled; cancelling the request at the exchange',
  ended: 'Ended',
};
