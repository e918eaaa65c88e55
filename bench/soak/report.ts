import color from 'picocolors';
import type { Killable } from '../../test/faults/kill/holds.ts';
import type { RoundReport } from '../../test/faults/kill/round.ts';
import type { KillWindow } from '../../test/faults/kill/windows.ts';

/** Renders one kill as a line. */
export function renderRound(
  number: number,
  of: number,
  report: RoundReport,
): string {
  const mark =
    report.faults.length > 0
      ? color.red('✗')
      : report.hit
        ? color.green('✓')
        : color.yellow('–');
  const { part = '', window = '', seconds, unanswered, repeats } = report;
  return [
    `${String(number).padStart(3)}/${of} ${mark} ${part.padEnd(10)} ${window.padEnd(58)}`,
    `${seconds.toFixed(1).padStart(6)} s  ${unanswered} unanswered  ${repeats} repeats`,
    report.hit ? '' : color.yellow('  (moment missed)'),
  ].join('');
}

/** Renders a table of how often each part was killed at each moment. */
export function renderCoverage(
  reports: readonly RoundReport[],
  parts: readonly Killable[],
  windows: readonly KillWindow[],
): string {
  const hits = (part: Killable, window: string) =>
    reports.filter(
      (report) =>
        report.part === part && report.window === window && report.hit,
    ).length;
  const header = `${'Killed at this moment'.padEnd(60)}${parts.map((part) => part.padStart(11)).join('')}`;
  const lines = windows.map(
    ({ name }) =>
      `${name.padEnd(60)}${parts.map((part) => String(hits(part, name) || '–').padStart(11)).join('')}`,
  );
  return [color.bold(header), ...lines].join('\n');
}

export function renderSummary(reports: readonly RoundReport[]): string {
  const sum = (of: (report: RoundReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const faulty = sum(({ faults }) => (faults.length > 0 ? 1 : 0));
  const seconds = reports
    .map((report) => report.seconds)
    .sort((left, right) => left - right);
  const median = seconds[Math.floor(seconds.length / 2)] ?? 0;
  const text =
    `${reports.length} kills, ${sum(({ hit }) => (hit ? 1 : 0))} of them at the planned moment; ` +
    `${sum(({ unanswered }) => unanswered)} calls got no response and were repeated, ` +
    `${sum(({ repeats }) => repeats)} webhooks repeated under their id; ` +
    `all ended ${median} s after the kill (median), ${seconds.at(-1) ?? 0} s at most. `;
  return faulty === 0
    ? color.green(`✓ ${text}All checks passed.`)
    : color.red(`✗ ${text}Checks failed in ${faulty} rounds.`);
}
