import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { VARIABLES } from '../../src/config.ts';
import { startSourceThread } from '../../src/lib/job-thread.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const ROOT = new URL('../../', import.meta.url);
const MARK = 'Gehe1mn1s';

let folder: string;
let database: TestDatabase;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await makeTestFolder();
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Every variable that holds a secret has the mark in its value. */
const environment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  LOG_LEVEL: 'trace',
  DATABASE_URL: `${database.databaseUrl}?application_name=${MARK}`,
  TEMPORAL_ADDRESS: inject('temporalAddress'),
  TEMPORAL_API_KEY: '',
  BLOB_STORE: pathToFileURL(join(folder, 'blobs')).href,
  AUDIT_HEADS: pathToFileURL(join(folder, 'heads')).href,
  ORCHESTRATOR_FILES: pathToFileURL(join(folder, 'files')).href,
  DATA_KEYS: `${MARK}:${Buffer.alloc(32, MARK).toString('base64')}`,
  ID_HMAC_KEY: `${MARK}-and-more-of-it`,
  LINK_SIGNING_KEY: `${MARK}-and-more-of-it`,
  INTERNAL_TOKEN_KEY: `${MARK}-and-more-of-it`,
  AUDIT_KEY: `${MARK}-and-more-of-it`,
  NOTIFICATION_SENDERS: `simulator=${MARK}-and-more-of-it`,
  HIE_BASE_URL: 'http://127.0.0.1:9/fhir',
  HIE_BEARER_TOKEN: MARK,
  HIE_CALLBACK_SECRET: `whsec_${Buffer.alloc(32, MARK).toString('base64')}`,
  PHARMACY_BASE_URL: 'http://127.0.0.1:9/fhir',
  LAB_BASE_URL: 'http://127.0.0.1:9/fhir',
  EXCHANGE_BASE_URL: 'http://127.0.0.1:9',
  EXCHANGE_API_KEY: `mdx_${MARK}`,
  PUBLIC_BASE_URL: 'http://127.0.0.1',
});

interface Started {
  child: ChildProcess;
  output(): string;
}

function start(entry: string, env: Record<string, string>): Started {
  const args = [
    '--report-on-signal',
    `--report-directory=${folder}`,
    `src/${entry}.ts`,
  ];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk));
  return { child, output: () => output };
}

async function reportOf(child: ChildProcess): Promise<string> {
  child.kill('SIGUSR2');
  let report = '';
  await expect
    .poll(async () => {
      const name = (await readdir(folder)).find((file) =>
        file.includes(`.${child.pid}.`),
      );
      report =
        name === undefined ? '' : await readFile(join(folder, name), 'utf8');
      return report.trimEnd().endsWith('}');
    })
    .toBe(true);
  return report;
}

describe('a running process shows its secrets neither in its arguments, its log nor its diagnostic report', () => {
  test.each(['gateway', 'worker'])('%s', async (entry) => {
    const { child, output } = start(entry, environment());
    await expect
      .poll(() => /is ready|listens|started|listening/.test(output()), {
        timeout: 240_000,
      })
      .toBe(true);
    const report = await reportOf(child);
    expect(report).toContain('"javascriptStack"');
    const fromKeyRing = Buffer.alloc(32, MARK).toString('base64');
    for (const secret of [
      MARK,
      fromKeyRing,
      new URL(database.databaseUrl).password,
    ])
      for (const [where, text] of Object.entries({
        report,
        log: output(),
        arguments: await readFile(`/proc/${child.pid}/cmdline`, 'utf8').catch(
          () => '',
        ),
      }))
        expect(text.includes(secret), `${secret} in the ${where}`).toBe(false);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('a process that cannot start does not quote a secret', () => {
  test.each([
    [
      'migrate',
      'DATABASE_URL',
      `postgres://exchange:${MARK}@127.0.0.1:no-port/exchange`,
    ],
    [
      'migrate',
      'DATABASE_URL',
      `postgres://exchange:${MARK}@127.0.0.1:9/exchange`,
    ],
    [
      'migrate',
      'DATABASE_URL',
      `postgres://exchange:${MARK}@127.0.0.1/exchange?sslmode=require`,
    ],
    ['gateway', 'DATA_KEYS', `k1:${MARK}`],
    ['gateway', 'LINK_SIGNING_KEY', MARK],
    ['gateway', 'NOTIFICATION_SENDERS', `simulator ${MARK}`],
    ['gateway', 'TRUSTED_PROXIES', MARK],
  ])('%s: %s=%s', async (entry, name, value) => {
    const quiet = Object.fromEntries(
      Object.entries(environment()).map(([key, text]) => [
        key,
        text.replaceAll(MARK, 'something-else'),
      ]),
    );
    const { child, output } = start(entry, { ...quiet, [name]: value });
    const [code] = await once(child, 'exit');
    expect([1, 2]).toContain(code);
    expect(output().length).toBeGreaterThan(0);
    expect(output()).not.toContain(MARK);
  });
});

test('a thread that reads foreign documents has none of our variables', async () => {
  const file = join(folder, 'thread.mjs');
  await writeFile(
    file,
    `import { parentPort } from 'node:worker_threads'; parentPort.postMessage(Object.keys(process.env));`,
  );
  process.env.EXCHANGE_API_KEY = MARK;
  const thread = startSourceThread(pathToFileURL(file), { heapMb: 64 });
  const [names] = await once(thread, 'message');
  await thread.terminate();
  delete process.env.EXCHANGE_API_KEY;
  expect((names as string[]).filter((name) => name in VARIABLES)).toEqual([]);
});
