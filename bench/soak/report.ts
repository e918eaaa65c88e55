import color from 'picocolors';
import type { Killable } from '../../test/faults/kill/holds.ts';
import type { RoundReport } from '../../test/faults/kill/round.ts';
import type { KillWindow } from '../../test/faults/kill/windows.ts';

/** One line for one kill. */
export function renderRound(number: number, of: number, report: RoundReport): string {
  const mark = report.faults.length > 0 ? color.red('✗') : report.hit ? color.green('✓') : color.yellow('–');
  const { part = '', window = '', seconds, unanswered, repeats } = report;
  return [
    `${String(number).padStart(3)}/${of} ${mark} ${part.padEnd(10)} ${window.padEnd(58)}`,
    `${seconds.toFixed(1).padStart(6)} s  ${unanswered} unanswered  ${repeats} repeats`,
    report.hit ? '' : color.yellow('  (moment missed)'),
  ].join('');
}

/** How often each part was killed in each moment. */
export function renderCoverage(
  reports: readonly RoundReport[],
  parts: readonly Killable[],
  windows: readonly KillWindow[],
): string {
  const hits = (part: Killable, window: string) =>
    reports.filter((report) => report.part === part && report.window === window && report.hit).length;
  const header = `${'Killed in this moment'.padEnd(60)}${parts.map((part) => part.padStart(11)).join('')}`;
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
  const seconds = reports.map((report) => report.seconds).sort((left, right) => left - right);
  const median = seconds[Math.floor(seconds.length / 2)] ?? 0;
  const text =
    `${reports.length} kills, ${sum(({ hit }) => (hit ? 1 : 0))} of them in the planned moment; ` +
    `${sum(({ unanswered }) => unanswered)} calls left unanswered and made again, ` +
    `${sum(({ repeats }) => repeats)} webhooks repeated under their id; ` +
    `all ended ${median} s after the kill (median), ${seconds.at(-1) ?? 0} s at most. `;
  return faulty === 0
    ? color.green(`✓ ${text}Everything as it must be.`)
    : color.red(`✗ ${text}${faulty} rounds are not as they must be.`);
}
