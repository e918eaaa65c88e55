import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { launchChromium } from '../test/support/chromium.ts';
import { starter } from '../test/support/run-starter.ts';
import { startTestStack } from '../test/support/stack.ts';

/**
 * Retakes the pictures of docs/images in the Temporal UI of a stack of its own:
 * a query whose hie fails once, a cohort's monitoring, and a run of it. Part of
 * `npm run pictures`.
 */
const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
const VIEWPORT = { width: 1360, height: 1290 };

const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
const dataDir = join(folder, 'data');
const stack = await startTestStack({ dataDir, logLevel: 'warn' });
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(stack.connection.temporalUiLink ?? '');
  await page.waitForLoadState('networkidle');

  await type('onboard --sample keith-kiehn --sources lab');
  const patient = idIn(await type('patients find kiehn'));
  const cohort = idIn(await type('cohorts create Panel'));
  await type(`cohorts add ${cohort} ${patient}`);
  await type(`monitor create ${cohort} hie`);
  const run = linkIn(await type(`monitor trigger ${cohort} hie`));
  await take(page, run, 'cohort-monitoring');
  await take(page, scheduleOf(run), 'monitoring-schedule');

  await type('simulate set hie failing-job --times 1');
  const query = await type(`query ${patient} --sources hie,pharmacy,lab`);
  await take(page, linkIn(query), 'network-query');
} finally {
  await browser.close();
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}

/** What a command of the starter prints. Throws if it does not end well. */
async function type(command: string): Promise<string> {
  const run = await starter([...command.split(' '), '--data-dir', dataDir]);
  if (run.exitCode !== 0)
    throw new Error(`${command} ended with ${run.exitCode}:\n${run.stderr}`);
  return run.stdout;
}

/** The last address of the Temporal UI in an output. */
function linkIn(output: string): string {
  const link = output.match(/https?:\S+\/workflows\/\S+/g)?.at(-1);
  if (link === undefined) throw new Error(`no link in: ${output}`);
  return link;
}

function idIn(output: string): string {
  const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(output) ?? [];
  if (id === undefined) throw new Error(`no id in: ${output}`);
  return id;
}

async function take(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link, { waitUntil: 'networkidle' });
  await page.screenshot({ path: join(IMAGES, `${name}-in-temporal-ui.png`) });
}

/** The schedule's page, from that of a run, whose id ends with its time. */
function scheduleOf(run: string): string {
  return run
    .replace('/workflows/', '/schedules/')
    .replace(/-\d{4}-\d{2}-\d{2}T[^/]*$/, '');
}
