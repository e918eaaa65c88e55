import {
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { callbackToken } from '../../src/exchange/queries/network-query/attempt-store.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { createEncryptionCodec } from '../../src/temporal/codec.ts';
import { DATABASE_FILE } from '../../tools/embedded/temporal-server.ts';
import { allHistoryTrees } from '../support/history-trees.ts';
import {
  type OtlpReceiver,
  startOtlpReceiver,
  tracedTo,
} from '../support/otlp-receiver.ts';
import {
  findWords,
  UNKNOWN_PERSON,
  wordsOf,
} from '../support/personal-words.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import { sample } from '../support/simulator.ts';
import {
  callGateway,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../support/stack.ts';
import {
  importPanel,
  onboard,
  PANEL,
  RECORD_NUMBER,
  REFUSED,
  RULES,
  sendBadRequests,
  sendForgedWebhook,
  sendIntake,
  startFailingReceiver,
  TROUBLED,
} from './privacy-run.ts';
import { describeTraces } from './traces.ts';

/** A signed token: header and claims of a JWT. */
const SIGNED_TOKEN = /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\./;
const BEARER = /\bbearer [\w.-]{16,}/i;

const SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

describe('what a whole run leaves behind', { timeout: 240_000 }, () => {
  let stack: TestStack;
  let collector: OtlpReceiver;
  let account: StackAccount;
  let words: string[];
  /** Everything that was left behind, by where. */
  let left: Record<string, string>;

  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'exchange-privacy-'));
    collector = await startOtlpReceiver();
    stack = await startTestStack({
      dataDir,
      logLevel: 'debug',
      environment: tracedTo(collector),
    });
    account = await stack.addAccount();
    const seen = await run();
    expect(seen.links.length).toBeGreaterThan(0);
    words = [...personalWords(), ...secretWords(), ...seen.links];
    left = { ...(await leftBehind()), 'Temporal, half way': seen.halfWay };
  });
  afterAll(async () => {
    await stack?.stop();
    await collector.close();
    if (stack !== undefined)
      await rm(stack.dataDir, { recursive: true, force: true });
  });

  async function run() {
    await stack.simulator.setRules(RULES);
    const receiver = await startFailingReceiver();
    const other = await stack.addAccount();
    await call('POST', 'settings', { webhookUrl: receiver.url }, other);

    expect(await sendBadRequests(stack, account)).toEqual([400, 400, 400, 500]);
    expect(await sendForgedWebhook(stack)).toBe(401);
    const intake = {
      jobId: `${RECORD_NUMBER}/intake`,
      facilityId: stack.connection.facilityId,
    };
    expect(
      await sendIntake(stack, {
        ...intake,
        patient: { ...UNKNOWN_PERSON, dob: REFUSED.dob },
      }),
    ).toBe(400);
    // Sent twice, as everything that is started again.
    for (const _ of [1, 2])
      expect(
        await sendIntake(stack, { ...intake, patient: UNKNOWN_PERSON }),
      ).toBe(202);

    const startOnboardings = () =>
      Promise.all(
        ['keith-kiehn', 'tamica-murazik'].map((key) =>
          onboard(stack, account, key, sample(key).createBody),
        ),
      );
    await startOnboardings();
    const onboardings = await startOnboardings();
    const refused = await onboard(stack, account, 'bad', {
      ...UNKNOWN_PERSON,
      dob: REFUSED.dob,
    });
    await expect(refused.result()).rejects.toThrow();
    await importPanel(stack, account);
    const steered = await startQuery('dannie-bogisich', account);
    const undelivered = await startQuery('isaiah-weber', other);

    await untilFailed(steered, 'lab');
    const halfWay = await dumpTemporal(stack.temporal);
    await call('POST', `network/query/${steered}/source/lab/retry`);
    await untilFailed(steered, 'lab');
    await call('POST', `network/query/${steered}/source/hie/cancel`);
    await untilEnded(steered);
    await call('POST', `network/query/${steered}/source/lab/retry`);
    const again = await startQuery('dannie-bogisich', account);
    await untilFailed(again, 'lab');
    await call('POST', `network/query/${again}/cancel`);
    await untilEnded(again);

    const summaries = await Promise.all(
      onboardings.map((handle) => handle.result()),
    );
    expect(summaries.map(({ status }) => status)).toEqual([
      'partial',
      'completed',
    ]);
    await untilEnded(steered);
    await untilEnded(undelivered, other);
    await untilNothingIsOpen();
    expect(receiver.taken.size).toBeGreaterThan(2);
    await receiver.close();
    return {
      halfWay,
      links: summaries.flatMap(({ consolidatedDataUrl }) =>
        tokenOf(consolidatedDataUrl),
      ),
    };
  }

  async function call(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    as = account,
  ) {
    const idempotencyKey = `${RECORD_NUMBER}/${path}/${Date.now()}`;
    const answer = await callGateway(stack.connection, as, method, path, {
      body,
      idempotencyKey,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async function startQuery(key: string, as: StackAccount): Promise<string> {
    const body = {
      ...sample(key).createBody,
      networkQuery: { sources: SOURCES },
    };
    const patient = await call(
      'POST',
      `patient?facilityId=${as.facilityId}`,
      body,
      as,
    );
    return patient.networkQuery.requestId;
  }

  const untilFailed = (requestId: string, type: string) =>
    vi.waitFor(
      async () => {
        const { sources } = await call('GET', `network/query/${requestId}`);
        const last = sources.findLast(
          (source: { type: string }) => source.type === type,
        );
        expect(last.status).toBe('failed');
      },
      { timeout: 240_000, interval: 200 },
    );

  const untilEnded = (requestId: string, as = account) =>
    vi.waitFor(
      async () => {
        const { status } = await call(
          'GET',
          `network/query/${requestId}`,
          undefined,
          as,
        );
        expect(['completed', 'partial', 'failed']).toContain(status);
      },
      { timeout: 240_000, interval: 200 },
    );

  const untilNothingIsOpen = () =>
    vi.waitFor(
      async () => {
        const open =
          "select id from event where status in ('pending', 'delivering')";
        expect(await stack.rows(open)).toEqual([]);
        const running = stack.temporal.workflow.count(
          'ExecutionStatus = "Running" and AccountId is not null',
        );
        expect((await running).count).toBe(0);
      },
      { timeout: 300_000, interval: 500 },
    );

  const personalWords = () => [
    ...loadSamplePatients().flatMap(wordsOf),
    ...wordsOf({
      createBody: UNKNOWN_PERSON,
      fullName: 'Quirina88 Nowherefound77',
    }),
    RECORD_NUMBER,
    ...Object.values(REFUSED),
    ...Object.values(TROUBLED),
    ...Object.values(PANEL),
  ];

  function secretWords(): string[] {
    const { dataKeys, ...secrets } = stack.secrets;
    const password = new URL(stack.connection.databaseUrl).password;
    return [
      ...Object.values(secrets),
      dataKeys.split(':')[1] ?? '',
      account.apiKey,
      password,
    ];
  }

  async function leftBehind(): Promise<Record<string, string>> {
    const { connection, dataDir } = stack;
    const { worker } = JSON.parse(
      await readFile(join(dataDir, 'ports.json'), 'utf8'),
    );
    const logs = Object.entries(await stack.logs()).map(([name, text]) => [
      `log ${name}`,
      text,
    ]);
    return {
      Temporal: await dumpTemporal(stack.temporal),
      "Temporal's database": await readFolder(join(dataDir, 'temporal')),
      'blob store': await readFolder(join(dataDir, 'blobs')),
      'metrics of the gateway': await textOf(`${connection.baseUrl}/metrics`),
      traces: collector.text(),
      'metrics of the worker': await textOf(
        `http://127.0.0.1:${worker}/metrics`,
      ),
      ...Object.fromEntries(logs),
    };
  }

  test('contains every kind of failure, so that the search is worth something', async () => {
    for (const id of [
      'patient-onboarding/',
      'network-query/',
      'webhook-destination/',
      '/redrive/1',
      'bulk-patient-create/',
      'query-sweep/',
    ])
      expect(left.Temporal).toContain(id);
    expect(left['log gateway.log']).toContain('database error');
    expect(left['metrics of the gateway']).toContain(
      'operation="createPatient"',
    );
    for (const name of [
      'POST /medical/v1/patient',
      'workflow networkQuery',
      'call lab',
      'send webhook',
    ])
      expect(left.traces).toContain(name);
    expect(left.traces).toContain('error.type');
    expect(left['metrics of the worker']).toContain('process="worker"');
    expect(left['log simulator-requests.jsonl']).toContain('"status":403');
    expect(left['log received-webhooks.jsonl']).toContain('network-query.lab');
    expect(Object.keys(left)).toEqual(
      expect.arrayContaining([
        'log postgres.log',
        'log temporal.log',
        'log worker.log',
        'log receiver.log',
      ]),
    );
    for (const text of Object.values(left))
      expect(text.length).toBeGreaterThan(100);
  });

  test('contains no name, birth date, number, address or id of a person, and no secret', () => {
    const found = Object.entries(left).flatMap(([where, text]) =>
      findWords(text, words).map((word) => `${word} in ${where}`),
    );
    expect(found).toEqual([]);
  });

  async function callbackTokens(): Promise<string[]> {
    const attempts = await stack.rows<{
      query_id: string;
      source: 'hie';
      attempt: number;
    }>('select query_id, source, attempt from network_query_attempt');
    return attempts.map(({ query_id, source, attempt }) =>
      callbackToken(stack.secrets.linkSigningKey, query_id, source, attempt),
    );
  }

  test('contains no token of a call: no bearer token, no signed link, no callback address', async () => {
    const tokens = await callbackTokens();
    expect(tokens.length).toBeGreaterThan(10);
    for (const [where, text] of Object.entries(left)) {
      expect(findWords(text, tokens), where).toEqual([]);
      expect(text, where).not.toMatch(SIGNED_TOKEN);
      expect(text, where).not.toMatch(BEARER);
    }
  });

  test('with the keys no person can be found in Temporal either, once their patients are deleted', async () => {
    const codec = createEncryptionCodec(parseKeyRing(stack.secrets.dataKeys));
    // A history that belongs to no run is shown by no call to the server.
    const database = join(stack.dataDir, 'temporal', DATABASE_FILE);
    async function decrypted(): Promise<string> {
      const trees = await allHistoryTrees(database, { codec });
      const shown = await dumpTemporal(stack.temporal, codec);
      return [shown, ...trees.map(({ text }) => text)].join('\n');
    }
    expect(await decrypted()).toContain('orchestrationId');
    for (const key of ['keith-kiehn', 'tamica-murazik', 'dannie-bogisich']) {
      const [patient] = await stack.rows<{ id: string }>(
        `select id from patient where external_id = '${sample(key).createBody.externalId}' and account_id = '${account.accountId}'`,
      );
      const deleted = await callGateway(
        stack.connection,
        account,
        'DELETE',
        `patient/${patient?.id}`,
      );
      expect(deleted.status).toBe(204);
    }
    // What a caller puts into metadata is for the caller to choose: it is in
    // the query's, too.
    const words = personalWords().filter((word) => word !== RECORD_NUMBER);
    await expect
      .poll(async () => findWords(await decrypted(), words), {
        timeout: 240_000,
        interval: 2_000,
      })
      .toEqual([]);
  });

  test('the search finds words and tokens that are planted in each place', async () => {
    const planted = sample('keith-kiehn').createBody.lastName;
    const [token = 'none'] = await callbackTokens();
    const claims = Buffer.from('{"sub":"somebody"}').toString('base64url');
    const signed = `${Buffer.from('{"alg":"EdDSA"}').toString('base64url')}.${claims}.signature`;
    const plain = new Client({
      connection: stack.temporal.connection,
      namespace: stack.connection.temporalNamespace,
    });
    const memo = {
      name: planted,
      token,
      signed,
      header: `Bearer ${account.apiKey}`,
    };
    await plain.workflow.start('nobody', {
      workflowId: 'planted',
      taskQueue: 'nobody',
      memo,
    });
    for (const name of Object.keys(await stack.logs()))
      await appendFile(
        join(stack.dataDir, 'logs', name),
        `${JSON.stringify(memo)}\n`,
      );
    await writeFile(
      join(stack.dataDir, 'blobs', 'planted'),
      JSON.stringify(memo),
    );
    const after = await leftBehind();
    const logs = Object.keys(after).filter((name) => /^log /.test(name));
    for (const where of [
      'Temporal',
      "Temporal's database",
      'blob store',
      ...logs,
    ]) {
      const text = after[where] ?? '';
      expect(findWords(text, words), where).toEqual(
        expect.arrayContaining([planted, account.apiKey]),
      );
      expect(findWords(text, [token]), where).toEqual([token]);
      expect(text, where).toMatch(SIGNED_TOKEN);
      expect(text, where).toMatch(BEARER);
    }

    const { dob } = sample('keith-kiehn').createBody;
    for (const form of [
      planted.toUpperCase(),
      encodeURIComponent(sample('keith-kiehn').fullName),
      Buffer.from(`{"dob":"${dob}"}`).toString('base64'),
      JSON.stringify({
        ssn: sample('keith-kiehn').createBody.personalIdentifiers[0]?.value,
      }),
    ])
      expect(findWords(`some ${form} text`, words), form).not.toEqual([]);
    expect(findWords('some other text', words)).toEqual([]);
  });

  // Last: what it leaves behind has not been searched.
  describeTraces(() => ({ stack, collector }));
});

async function readFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, {
    recursive: true,
    withFileTypes: true,
  });
  const files = entries.filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) =>
    readFile(join(parentPath, name), 'latin1'),
  );
  return (await Promise.all(texts)).join('\n');
}

async function textOf(url: string): Promise<string> {
  return (await request(url)).body.text();
}

/** The part of a signed link that opens it. */
const tokenOf = (url: string | undefined): string[] =>
  url === undefined
    ? []
    : [
        ...new URL(url).searchParams.values(),
        ...new URL(url).pathname.split('/'),
      ].filter((part) => part.length > 20 && !/^[0-9a-f-]{36}$/.test(part));
