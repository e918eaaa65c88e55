import { readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import type { MixedRun } from './run.ts';

const PAGE = new URL('../../../docs/reliability.md', import.meta.url);
const BEGIN = '<!-- Written by `npm run soak -- --minutes … --docs` -->';
const END = '<!-- end -->';

/** Renders a run as the section of docs/reliability.md. */
export const renderMarkdown = (run: MixedRun): string =>
  renderRun(`npm run soak -- --minutes ${run.minutes} --seed ${run.seed}`, run);

/** Renders a run of a command; `more` are further rows of its work. */
export function renderRun(
  command: string,
  run: Omit<MixedRun, 'seed' | 'minutes'>,
  more: readonly (readonly [string, string])[] = [],
): string {
  const { seconds, calls, queries, webhooks, hieJobs, waves, losses } = run;
  return [
    `\`${command}\` on ${new Date().toISOString().slice(0, 10)}, with ${machine()}:`,
    '',
    '| Fault | Times | Seconds in all |',
    '|---|---|---|',
    ...run.faults.map(
      ({ kind, times, seconds: lasted }) =>
        `| ${kind} | ${times} | ${lasted || '–'} |`,
    ),
    '',
    '| Work | |',
    '|---|---|',
    `| accounts with the mixed load | ${waves} |`,
    `| calls answered; without a response and repeated | ${calls.answered}; ${calls.unanswered} |`,
    `| network queries | ${queries} |`,
    `| webhooks; repeated under their id | ${webhooks.messages}; ${webhooks.repeats} |`,
    `| queries of patients whom hie knows; jobs that it accepted | ${hieJobs.queries}; ${hieJobs.accepted} |`,
    ...more.map(([what, value]) => `| ${what} | ${value} |`),
    `| all work had ended after | ${seconds} s |`,
    `| **lost, doubled or stuck** | **${losses.length}** |`,
  ].join('\n');
}

/** Replaces the section in docs/reliability.md. */
export async function writeSection(run: MixedRun): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('docs/reliability.md has no section for a soak');
  await writeFile(
    PAGE,
    `${before}${BEGIN}\n\n${renderMarkdown(run)}\n\n${END}${after}`,
  );
}

function machine(): string {
  const cores = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cores.length} cores (${cores[0]?.model.trim() ?? 'unknown'}) and ${gigabytes} GB`;
}
