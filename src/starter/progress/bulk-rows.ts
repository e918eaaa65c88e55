import type { LiveLines } from '../../lib/live-lines.ts';
import type { BulkView } from './bulk-view.ts';
import { plainText } from './plain-text.ts';
import { coloured } from './rows.ts';

const BAR_WIDTH = 30;

/**
 * One row: the phase, with a progress bar while the exchange processes the CSV. Where lines cannot be redrawn, the row
 * changes only every 10 %, so that a log stays short.
 */
export function bulkRows(view: BulkView, { colors, redraws }: LiveLines): string[] {
  if (view.state !== 'running') {
    const why = view.failure === undefined ? '' : `: ${view.failure}`;
    return [`${coloured(view.state, colors)}${why}`];
  }
  const problem = view.problem === undefined ? '' : colors.yellow(` (${plainText(view.problem)})`);
  const { counts } = view;
  if (view.phase !== 'processing' || counts === undefined || counts.rows === 0)
    return [`${phaseOf(view)}${problem}`];
  const fraction = Math.min(1, counts.handled / counts.rows);
  const of = `of ${number(counts.rows)} rows`;
  if (!redraws) return [`${phaseOf(view)}: ${Math.floor(fraction * 10) * 10} % ${of}${problem}`];
  const full = Math.round(fraction * BAR_WIDTH);
  const bar = `${colors.green('█'.repeat(full))}${colors.dim('░'.repeat(BAR_WIDTH - full))}`;
  const failed = counts.failed === 0 ? '' : colors.yellow(`, ${number(counts.failed)} failed`);
  return [
    `${phaseOf(view)}  ${bar} ${Math.floor(fraction * 100)} %  ${number(counts.handled)} ${of}${speedOf(view)}${failed}${problem}`,
  ];
}

function speedOf({ rowsPerSecond, secondsLeft }: BulkView): string {
  const speed = rowsPerSecond === undefined ? '' : `, ${number(Math.round(rowsPerSecond))} rows/s`;
  return `${speed}${secondsLeft === undefined ? '' : `, ${duration(secondsLeft)} left`}`;
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

const phaseOf = ({ paused, phase }: BulkView): string => {
  if (paused) return 'paused';
  return phase === undefined ? 'starting' : PHASES[phase];
};

const PHASES: Readonly<Record<NonNullable<BulkView['phase']>, string>> = {
  requesting: 'requesting an upload URL',
  uploading: 'uploading the file',
  processing: 'processing',
  'reading-result': 'reading the result',
  cancelling: 'cancelling the request at the exchange',
  ended: 'ended',
};

export const number = (value: number): string => value.toLocaleString('en-US');
