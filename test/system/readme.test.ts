import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type StarterRun, starter } from '../support/run-starter.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

/**
 * README.md, docs/first-hour.md and docs/command-line.md, followed line by line
 * with the ids that earlier lines printed.
 */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const WAIT = { timeout: 240_000, interval: 1_000 };
const run = promisify(execFile);
let folder: string;
let stack: TestStack;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'readme-'));
  stack = await startTestStack({
    dataDir: join(folder, 'data'),
    logLevel: 'warn',
  });
});
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What people type into shells, in order and without comments. */
async function linesOf(page: string): Promise<string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```/gs)]
    .flatMap(([, block = '']) => block.trim().split('\n'))
    .map((line) => line.replace(/\s+#.*$/, ''));
}

const STARTER = 'npm run starter -- ';
const ID = '[0-9a-f]{8}-[0-9a-f-]{27}';
/** Where an output has the id that later lines call by this name. */
const PRINTED: [string, RegExp, RegExp][] = [
  ['<patientId>', /^patients find/, new RegExp(`^(${ID})`, 'm')],
  ['<requestId>', /^query/, new RegExp(`Query (${ID}): `)],
  ['<requestId>', /^patients show/, new RegExp(`^(${ID})  \\d{4}-`, 'm')],
  ['<cohortId>', /^cohorts create/, new RegExp(`(${ID})`)],
  ['<documentId>', /^documents/, new RegExp(`^(${ID}) `, 'm')],
];
const PARTIAL = 3;

/**
 * Runs the starter's lines one after the other. Those that match `partly` exit
 * as partial, the others as done.
 */
async function follow(
  lines: readonly string[],
  partly: RegExp,
): Promise<Map<string, StarterRun>> {
  const ids = new Map<string, string>();
  const ran = new Map<string, StarterRun>();
  for (const line of lines) {
    const command = line.slice(STARTER.length);
    const typed = [...ids].reduce(
      (text, [name, id]) => text.replaceAll(name, id),
      command,
    );
    expect(typed, 'no earlier line printed this id').not.toMatch(/<\w+>/);
    const words = typed
      .split(' ')
      .map((word) => word.replace(/^out\//, `${folder}/out/`));
    const run = await starter([...words, '--data-dir', stack.dataDir]);
    ran.set(command, run);
    const ends = partly.test(command) ? PARTIAL : 0;
    expect([command, run.exitCode], `${run.stdout}\n${run.stderr}`).toEqual([
      command,
      ends,
    ]);
    for (const [name, printer, pattern] of PRINTED) {
      const id = printer.test(command)
        ? pattern.exec(run.stdout)?.[1]
        : undefined;
      if (id !== undefined) ids.set(name, id);
    }
  }
  return ran;
}

// First, as it is for a newcomer: a source that was never asked behaves
// differently.
test('the first hour leads from a form to a patient’s record, through a source that failed', async () => {
  const lines = await linesOf('docs/first-hour.md');
  const form = lines.indexOf('npm run form');
  expect(lines.slice(0, 2)).toEqual(['npm ci', 'npm start']);
  await follow(lines.slice(2, form), /^$/);

  const address = await startForm();
  const filledIn = fieldsOf(await (await request(address)).body.text());
  for (const _sentTwice of [1, 2]) {
    const answer = await request(address, {
      method: 'POST',
      body: filledIn.toString(),
    });
    expect(await answer.body.text()).toContain(lines[form + 1]);
  }

  const ran = await follow(lines.slice(form + 1), /^status/);
  expect(ran.get('retry <requestId> lab')?.stdout).toContain('completed');
});

test('each command of docs/command-line.md works with what the earlier ones printed', async () => {
  const lines = (await linesOf('docs/command-line.md')).filter((line) =>
    line.startsWith(STARTER),
  );
  const ran = await follow(
    lines,
    /^(?:query <patientId> --sources hie,lab|status|bulk )/,
  );
  expect(ran.size).toBeGreaterThan(20);
});

test('the first lines of a caller in the README bring back what stands below each', async () => {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, block = ''] = /```sh\n(API=.*?)```/s.exec(text) ?? [];
  const [setup = '', ...calls] = block.trim().split('\n\n');
  expect(calls).toHaveLength(4);

  const { baseUrl, apiKey, facilityId } = stack.connection;
  const ids = new Map([
    ['<gateway>', baseUrl],
    ['<key>', apiKey],
    ['<facilityId>', facilityId],
  ]);
  for (const call of calls) {
    const script = withIds(`${setup}\n${call}`, ids);
    const [, shown = ''] = /^# (.*)$/m.exec(call) ?? [];
    const printed = await vi.waitFor(async () => {
      const { stdout } = await run('bash', ['-c', script]);
      expect(isAbridged(shown, stdout), `${stdout} instead of ${shown}`).toBe(
        true,
      );
      return stdout;
    }, WAIT);

    const answer: { id?: string; requestId?: string } = JSON.parse(printed);
    if (answer.id !== undefined) ids.set('<patientId>', answer.id);
    if (answer.requestId !== undefined)
      ids.set('<requestId>', answer.requestId);
  }
});

const withIds = (text: string, ids: ReadonlyMap<string, string>): string =>
  [...ids].reduce((typed, [name, id]) => typed.replaceAll(name, id), text);

/** Whether a text has everything that the page shows of it, in that order. */
function isAbridged(shown: string, text: string): boolean {
  let from = 0;
  for (const part of shown.split('…')) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}

/** Starts the example's form on the test's stack. Returns its address. */
async function startForm(): Promise<string> {
  const child = spawn(process.execPath, ['examples/own-form/form.ts'], {
    cwd: ROOT,
    env: { ...process.env, DATA_DIR: stack.dataDir, FORM_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const [line] = (await once(createInterface(child.stdout), 'line')) as [
    string,
  ];
  return line.replace('The form: ', '');
}

/** The fields of a page's form as they are filled in. */
function fieldsOf(page: string): URLSearchParams {
  const inputs = [
    ...page.matchAll(/<input name="(\w+)"[^>]* value="([^"]*)"/g),
  ];
  const chosen = [
    ...page.matchAll(/<select name="(\w+)".*?value="(\w+)" selected/gs),
  ];
  return new URLSearchParams(
    Object.fromEntries(
      [...inputs, ...chosen].map(([, name = '', value = '']) => [name, value]),
    ),
  );
}
