import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemEnvironment } from '../../src/config.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { starter } from '../support/run-starter.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import {
  callGateway,
  startTestStack,
  type TestStack,
} from '../support/stack.ts';
import { describeOwnWorkflow } from './own-workflow.ts';
import { describePublishedClient } from './published-client.ts';
import { describeWrongPatient } from './wrong-patient.ts';

const ADMIN = fileURLToPath(new URL('../../src/admin.ts', import.meta.url));
const MAIN = fileURLToPath(
  new URL('../../src/starter/main.ts', import.meta.url),
);
const PANEL = fileURLToPath(
  new URL('../../samples/panel.csv', import.meta.url),
);

interface OnboardingDocument {
  jobId: string;
  workflowId: string;
  workflowUrl: string;
  isNew: boolean;
  status: string;
  patientId: string;
  requestIds: string[];
  sources: { type: string; state: string; attempts: number }[];
}

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    dataDir: await mkdtemp(join(tmpdir(), 'exchange-starter-')),
    logLevel: 'warn',
  });
});
afterAll(async () => {
  await stack?.stop();
  if (stack !== undefined)
    await rm(stack.dataDir, { recursive: true, force: true });
});
afterEach(() => stack.simulator.clearRules());

const run = (...argv: string[]) =>
  starter([...argv, '--data-dir', stack.dataDir, '--json']);
const onboardings = (result: { json(): Record<string, unknown> }) =>
  result.json().onboardings as OnboardingDocument[];
const [sample] = loadSamplePatients();
const KEY = sample?.key ?? '';

/** No source of anybody answers until the rule goes. */
const standstill = () =>
  stack.simulator.setRules(
    (['hie', 'pharmacy', 'lab'] as const).map((source) => ({
      source,
      fault: { type: 'latency', ms: 30_000 },
    })),
  );

/** What the Temporal UI shows at the top of a workflow's page. */
async function pageOf(workflowId: string) {
  const handle = stack.temporal.workflow.getHandle(workflowId);
  const [described, metadata] = await Promise.all([
    handle.describe(),
    handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata'),
  ]);
  return {
    summary: await described.staticSummary(),
    details: metadata.currentDetails,
  };
}

describe('patients, cohorts and trouble', () => {
  const text = (...argv: string[]) =>
    starter([...argv, '--data-dir', stack.dataDir]);

  test('every id that a command wants was printed by another one', async () => {
    const [onboarded] = onboardings(
      await run('onboard', '--sample', KEY, '--no-wait'),
    );
    expect(onboarded).toBeDefined();
    const names = [sample?.createBody.lastName].flat().join(' ');
    await expect
      .poll(
        async () => (await run('patients', 'find', names)).json().patients,
        { timeout: 240_000 },
      )
      .toHaveLength(1);
    const [patient] = (await run('patients', 'find', names)).json()
      .patients as { id: string }[];
    const created = await run(
      'cohorts',
      'create',
      'Typed',
      '--adt',
      '--hie',
      'weekly',
    );
    const { id: cohortId } = created.json().cohort as { id: string };
    const added = await text('cohorts', 'add', cohortId, patient?.id ?? '');
    expect(added.stdout).toContain('1 patient added to the cohort');
    const shown = await text('cohorts', 'show', cohortId);
    expect(shown.stdout).toMatch(/Typed +1 +treatment +hie weekly, adt/);
    expect(shown.stdout).toContain(patient?.id);
    const person = await text('patients', 'show', patient?.id ?? '');
    expect(person.stdout).toContain(`Typed (${cohortId})`);
    expect(person.stdout).toMatch(
      /query +started \(UTC\) +status +sources|No queries yet/,
    );
    expect((await text('cohorts', 'list')).stdout).toContain(cohortId);
    const removed = await text(
      'cohorts',
      'remove',
      cohortId,
      patient?.id ?? '',
    );
    expect(removed.stdout).toContain('1 patient removed from the cohort');
    expect((await text('patients', 'list', '--count', '1')).stdout).toMatch(
      /^patient +name +born/,
    );
    expect(
      (await text('patients', 'show', '0198a000-0000-7000-8000-000000000000'))
        .exitCode,
    ).toBe(5);
  });

  test('a source can be made to fail, is then retried, and behaves again', async () => {
    // Not the patient of the test before, whose onboarding may still be asking
    // the lab.
    const [, second] = loadSamplePatients();
    const other = second?.key ?? '';
    const set = await text(
      'simulate',
      'set',
      'lab',
      'refuses-patient',
      '--sample',
      other,
      '--times',
      '1',
    );
    expect(set.stdout).toMatch(
      new RegExp(`lab +${other} +refuses-patient +0 +1`),
    );
    const failed = await run('onboard', '--sample', other, '--sources', 'lab');
    const [{ requestIds = [], workflowId = '' } = {}] = onboardings(
      failed,
    ) as Partial<OnboardingDocument>[];
    expect(failed.exitCode).toBe(4);
    const externalId = second?.createBody.externalId ?? '';
    const [patient] = (await run('patients', 'find', externalId)).json()
      .patients as { id: string }[];
    const pages = [
      await pageOf(`network-query/${requestIds[0]}`),
      await pageOf(workflowId),
    ];
    expect(pages[0]?.summary).toContain(`\`${patient?.id}\`: lab`);
    for (const { details } of pages) {
      expect(details).toMatch(/nded as failed: 0 of 1 sources completed/);
      expect(details).toContain(
        `npm run starter -- retry ${requestIds[0]} lab`,
      );
    }
    expect(await dumpTemporal(stack.temporal)).not.toContain(externalId);
    expect((await text('simulate', 'list')).stdout).toMatch(
      /refuses-patient +1 +1/,
    );
    expect((await run('retry', requestIds[0] ?? '', 'lab')).exitCode).toBe(0);
    expect((await text('simulate', 'clear')).stdout).toBe(
      'All sources behave.\n',
    );
    const unknown = await text('simulate', 'set', 'lab', 'explode');
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('Expected one of slow, down'),
    ]);
  });
});

describe('the starter on a running stack', () => {
  test('the simulated gateway is told of nobody until something is contributed, and is then given it, as the disclosures say', async () => {
    const { key, createBody } = loadSamplePatients().at(-1) ?? {};
    const ask = () => run('simulate', 'ask', '--sample', key ?? '');
    const created = await callGateway(
      stack.connection,
      stack.connection,
      'POST',
      `patient?facilityId=${stack.connection.facilityId}`,
      { body: createBody },
    );
    const patientId: string = created.body.id;
    const before = await ask();
    expect(before.exitCode, before.stderr).toBe(5);
    expect(before.json()).toMatchObject({ discovery: 'nobody', documents: [] });

    const letter = {
      resourceType: 'DocumentReference',
      id: 'letter',
      status: 'current',
      description: 'Letter',
      content: [
        { attachment: { contentType: 'text/plain', data: 'SGVsbG8=' } },
      ],
    };
    const body = {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ resource: letter }],
    };
    const path = `patient/${patientId}/consolidated`;
    await callGateway(stack.connection, stack.connection, 'PUT', path, {
      body,
    });
    const after = await ask();
    expect(after.exitCode, after.stderr).toBe(0);
    expect(after.json()).toMatchObject({
      discovery: 'found',
      patientId,
      documents: [{ title: 'Letter', sizeBytes: 5, isAsListed: true }],
      problems: [],
    });
    const audited = await stack.rows<{ operation: string }>(
      "select operation from audit_entry where patient_id = $1 and actor = 'community:2.999.7' order by id",
      [patientId],
    );
    expect(audited.map(({ operation }) => operation)).toEqual([
      'gatewayDiscovery',
      'gatewayDocumentQuery',
      'gatewayDocument',
    ]);
  });

  test('onboards every sample at once, and each link leads to a workflow that Temporal knows', async () => {
    const result = await run('onboard', '--sample', 'all');
    expect(result).toMatchObject({ exitCode: 0 });
    expect(onboardings(result)).toHaveLength(loadSamplePatients().length);
    for (const { workflowId, workflowUrl, sources } of onboardings(result)) {
      expect(sources.map(({ state }) => state)).toEqual([
        'completed',
        'completed',
        'completed',
      ]);
      expect(decodeURIComponent(new URL(workflowUrl).pathname)).toMatch(
        new RegExp(`/${workflowId}$`),
      );
      await stack.temporal.workflow.getHandle(workflowId).describe();
    }
  });

  test('the same job is one onboarding, and its id is nowhere in clear text', async () => {
    const job = 'MRN-7654321';
    const [first] = onboardings(
      await run('onboard', '--sample', KEY, '--sources', 'lab', '--job', job),
    );
    const [again] = onboardings(
      await run('onboard', '--sample', KEY, '--sources', 'lab', '--job', job),
    );
    expect(first?.isNew).toBe(true);
    expect(again).toMatchObject({
      isNew: false,
      workflowId: first?.workflowId,
      requestIds: first?.requestIds,
    });
    expect(first?.workflowId).not.toContain('7654321');
    expect(JSON.stringify(await stack.logs())).not.toContain('7654321');
    const [found] = onboardings(await run('status', job));
    expect(found).toMatchObject({
      workflowId: first?.workflowId,
      status: 'completed',
    });
  });

  test('a file with mistakes starts nothing and lists each mistake', async () => {
    const file = join(stack.dataDir, 'patient.json');
    await writeFile(
      file,
      JSON.stringify({
        ...sample?.createBody,
        dob: '2190-01-01',
        firstName: undefined,
      }),
    );
    const result = await run(
      'onboard',
      '--file',
      file,
      '--job',
      'wrong-patient',
    );
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toMatch(/dob: .*future/);
    expect(result.stderr).toMatch(/firstName/);
    expect((await run('status', 'wrong-patient')).exitCode).toBe(5);
  });

  test('a failed source is retried after the end, as a second attempt of the same query', async () => {
    await stack.simulator.setRules([
      {
        source: 'lab',
        sample: KEY,
        operation: 'match',
        fault: { type: 'status', status: 403, code: 'suppressed' },
      },
    ]);
    const onboarded = await run(
      'onboard',
      '--sample',
      KEY,
      '--sources',
      'pharmacy,lab',
    );
    expect(onboarded.exitCode).toBe(3);
    await stack.simulator.clearRules();
    const [requestId = ''] = onboardings(onboarded)[0]?.requestIds ?? [];
    const retried = await run('retry', requestId, 'lab');
    expect(retried.exitCode).toBe(0);
    expect(retried.json()).toMatchObject({
      requestId,
      status: 'completed',
      sources: [
        { type: 'pharmacy', attempts: 1 },
        { type: 'lab', attempts: 2, state: 'completed' },
      ],
    });
    expect((await run('retry', requestId, 'lab')).exitCode).toBe(5);
  });

  test('a query is started, looked at, given up source by source and cancelled', async () => {
    const [known] = onboardings(
      await run('onboard', '--sample', KEY, '--sources', 'lab'),
    );
    await standstill();
    const started = await run('query', known?.patientId ?? '', '--no-wait');
    expect(started.exitCode).toBe(0);
    const requestId = String(started.json().requestId);
    expect((await run('status', requestId)).exitCode).toBe(6);
    const givenUp = await run('cancel', requestId, '--source', 'lab');
    expect(givenUp.exitCode).toBe(0);
    const cancelled = await run('cancel', requestId);
    expect(cancelled.exitCode).toBe(0);
    const ended = await run('status', requestId);
    expect(ended.exitCode).toBe(4);
    expect(JSON.stringify(ended.json().timeline)).toContain('query-ended');
    expect((await run('cancel', requestId)).exitCode).toBe(5);
  });

  test('a cancelled onboarding ends, and so does its query', async () => {
    await standstill();
    const begun = await run(
      'onboard',
      '--sample',
      KEY,
      '--job',
      'to-cancel',
      '--timeout',
      '3',
    );
    expect(begun.exitCode).toBe(6);
    const cancelled = await run('cancel', 'to-cancel');
    expect(cancelled.exitCode).toBe(0);
    expect(onboardings(cancelled)[0]?.status).toBe('cancelled');
    const [requestId = ''] = onboardings(cancelled)[0]?.requestIds ?? [];
    expect((await run('status', requestId)).exitCode).toBe(4);
    expect((await run('cancel', 'to-cancel')).exitCode).toBe(5);
  });

  test('Ctrl-C ends the watching, not the work', async () => {
    // Longer than a busy machine needs to show that it waits.
    await stack.simulator.setRules([
      {
        source: 'lab',
        sample: KEY,
        operation: 'match',
        times: 1,
        fault: { type: 'latency', ms: 15_000 },
      },
    ]);
    const args = [
      'onboard',
      '--sample',
      KEY,
      '--sources',
      'lab',
      '--job',
      'left-alone',
      '--data-dir',
      stack.dataDir,
    ];
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: systemEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    let output = '';
    for await (const chunk of child.stdout) {
      output += chunk;
      if (output.includes('waiting for the sources') && !child.killed)
        child.kill('SIGINT');
    }
    expect(await ended).toEqual([130, null]);
    expect(output).toContain('npm run starter -- status left-alone');
    const followed = await run(
      'onboard',
      '--sample',
      KEY,
      '--sources',
      'lab',
      '--job',
      'left-alone',
    );
    expect(followed.exitCode).toBe(0);
    expect(onboardings(followed)[0]).toMatchObject({
      isNew: false,
      status: 'completed',
    });
  });

  test('a panel goes in but for its wrong rows, and those once corrected complete it', async () => {
    const out = await mkdtemp(join(stack.dataDir, 'panel-'));
    // A file may be called after somebody.
    const panel = join(out, 'Kemmer137.csv');
    await copyFile(PANEL, panel);
    const job = ['--job', 'panel-of-Kemmer137'];
    const sent = await run('bulk', panel, '--send-anyway', ...job);
    expect(sent.json(), sent.stderr).toMatchObject({
      status: 'partial',
      exitCode: 3,
      isNew: true,
      counts: { rows: 20, failed: 2 },
      files: {
        result: join(out, 'Kemmer137.result.csv'),
        patients: join(out, 'Kemmer137.patients.csv'),
      },
    });
    const told = (await stack.received()).filter(
      ({ type }) => type === 'medical.bulk-patient-create',
    );
    expect(told.some(({ signalled }) => signalled)).toBe(true);

    const corrections = join(out, 'Kemmer137.corrections.csv');
    const wrong = await readFile(corrections, 'utf8');
    expect(wrong.trimEnd().split('\r\n')).toHaveLength(3);
    await writeFile(
      corrections,
      wrong
        .replace(',2740,', ',02740,')
        .replace('(555) 014-2210', '5550142210'),
    );
    const rest = await run('bulk', corrections);
    expect(rest.json(), rest.stderr).toMatchObject({
      status: 'completed',
      exitCode: 0,
    });
    expect(rest.json().counts).toMatchObject({ rows: 2, created: 2 });

    expect(
      (await run('bulk', panel, '--send-anyway', ...job)).json(),
    ).toMatchObject({
      isNew: false,
      requestId: sent.json().requestId,
    });
    const other = await run('bulk', panel, '--dry-run', ...job);
    expect(other).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('--dry-run'),
    });
    const dry = await run('bulk', panel, '--dry-run');
    expect(dry.json().counts).toEqual({
      rows: 20,
      handled: 20,
      created: 0,
      updated: 18,
      failed: 2,
    });

    const looked = await run(
      'bulk',
      'status',
      'panel-of-Kemmer137',
      '--out',
      join(out, 'again'),
    );
    expect(looked.json()).toMatchObject({
      status: 'partial',
      counts: { rows: 20 },
    });
    for (const command of ['pause', 'resume', 'cancel'])
      expect((await run('bulk', command, 'panel-of-Kemmer137')).exitCode).toBe(
        5,
      );
    expect((await run('bulk', 'status', 'no-such-job')).exitCode).toBe(5);

    const clear = [
      await dumpTemporal(stack.temporal),
      JSON.stringify(await stack.logs()),
    ].join('\n');
    expect(clear).not.toContain('Kemmer137');
  });

  test('an export is saved whole and once, left alone by Ctrl-C, gone on with, and cancelled', async () => {
    const out = join(stack.dataDir, 'exported');
    const wanted = ['--type', 'Patient,Condition'];
    const exported = await run('export', ...wanted, '--out', out);
    expect(exported.exitCode).toBe(0);
    const { exportId, files } = exported.json() as unknown as {
      exportId: string;
      files: { name: string; count: number }[];
    };
    expect(files.map(({ name }) => name)).toContain('Condition.1.ndjson');
    const linesOf = async (name: string) =>
      (await readFile(join(out, name), 'utf8')).split('\n').length - 1;
    for (const { name, count } of files)
      expect(await linesOf(name)).toBe(count);

    await writeFile(join(out, 'Patient.1.ndjson'), '{"resourceType":"Pat');
    const before = await stat(join(out, 'Condition.1.ndjson'));
    const statusUrl = `${stack.connection.baseUrl}/fhir/R4/bulk-export/${exportId}`;
    expect(
      (await run('export', '--export', statusUrl, '--out', out)).exitCode,
    ).toBe(0);
    for (const { name, count } of files)
      expect(await linesOf(name)).toBe(count);
    expect((await stat(join(out, 'Condition.1.ndjson'))).ino).toBe(before.ino);
    expect((await readdir(out)).sort()).toEqual(
      ['manifest.json', ...files.map(({ name }) => name)].sort(),
    );
    const mixed = await run('export', '--out', out);
    expect([mixed.exitCode, mixed.stderr]).toEqual([
      2,
      expect.stringContaining('contains another export'),
    ]);

    const ctrlC = new AbortController();
    const left = await starter(
      [
        'export',
        ...wanted,
        '--out',
        `${out}-2`,
        '--data-dir',
        stack.dataDir,
        '--json',
      ],
      {
        interrupted: ctrlC.signal,
        onOutput: (text) => text.includes('has started') && ctrlC.abort(),
      },
    );
    expect(left).toMatchObject({
      exitCode: 130,
      stderr: expect.stringContaining('--export'),
    });
    const { exportId: leftId } = left.json() as unknown as { exportId: string };
    expect((await run('export', 'cancel', leftId)).exitCode).toBe(0);
    const gone = await run('export', '--export', leftId, '--no-wait');
    expect([gone.exitCode, gone.stderr]).toEqual([
      5,
      expect.stringContaining('Export not found'),
    ]);
    const refused = await run('export', '--since', 'yesterday', '--no-wait');
    expect([refused.exitCode, refused.stderr]).toEqual([
      5,
      expect.stringContaining('is not an instant'),
    ]);
  });

  test('another base address is asked with a key of its own', async () => {
    const { baseUrl } = stack.connection;
    const other = await stack.addAccount();
    const target = ['--base-url', baseUrl, '--api-key', other.apiKey, '--json'];
    const [mine] = onboardings(
      await run('onboard', '--sample', KEY, '--sources', 'lab'),
    );
    const foreign = await starter([
      'query',
      mine?.patientId ?? '',
      '--sources',
      'lab',
      ...target,
    ]);
    expect(foreign.exitCode).toBe(5);
    const [requestId = ''] = mine?.requestIds ?? [];
    expect((await starter(['status', requestId, ...target])).exitCode).toBe(5);
  });

  test('the audit of the running stack is verified by the admin command as a process', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ADMIN,
      'audit',
      'verify',
      '--data-dir',
      stack.dataDir,
    ]);
    expect(stdout).toMatch(/^[0-9a-f-]{36} {2}verified: /m);
  });
});

describePublishedClient(() => stack);
describeWrongPatient(() => stack);
describeOwnWorkflow(() => stack);
