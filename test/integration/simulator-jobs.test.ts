import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import type { SettingsChange } from '../../tools/simulator/settings.ts';
import {
  SIMULATOR_CREDENTIALS,
  sample,
  startTestSimulator,
  type TestAnswer,
  type TestSimulator,
} from '../support/simulator.ts';

const quick: SettingsChange = {
  hie: { jobLatencyMs: { min: 20, max: 60 }, retryAfterSeconds: 7 },
};
/**
 * How long a test waits for what must come; long, for it costs nothing when it
 * comes.
 */
const WAIT = { timeout: 240_000, interval: 20 };
const never: SettingsChange = {
  hie: { jobLatencyMs: { min: 600_000, max: 600_000 } },
};

let simulator: TestSimulator;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let patientId: string;
beforeAll(async () => {
  receiver = await startReceiver();
  simulator = await startTestSimulator({ settings: quick });
  patientId = await simulator.patientId('hie', sample());
});
afterAll(async () => {
  await simulator.close();
  await receiver.close();
});
beforeEach(async () => {
  receiver.calls.length = 0;
  await simulator.admin.clearRules();
  await simulator.admin.resetSettings();
});

async function kickOff(at: TestSimulator, query = ''): Promise<string> {
  const answer = await at.ask(
    'hie',
    `/Patient/${patientId}/$everything${query}`,
    {
      headers: { prefer: 'respond-async', 'x-callback-url': receiver.url },
    },
  );
  expect(answer.status).toBe(202);
  return String(answer.headers['content-location']);
}

async function finished(
  at: TestSimulator,
  statusUrl: string,
): Promise<TestAnswer> {
  return vi.waitFor(async () => {
    const answer = await at.ask('hie', statusUrl);
    expect(answer.status).not.toBe(202);
    return answer;
  }, WAIT);
}

describe('an asynchronous request', () => {
  test('tells its progress and when to ask again, until it is done', async () => {
    await simulator.admin.changeSettings(never);
    const statusUrl = await kickOff(simulator);
    const answer = await simulator.ask('hie', statusUrl);
    expect(answer.status).toBe(202);
    expect(answer.headers).toMatchObject({
      'retry-after': '7',
      'x-progress': '0% collected',
    });
  });

  test('ends with the same pages that a synchronous request gives', async () => {
    const statusUrl = await kickOff(simulator);
    await finished(simulator, statusUrl);
    const entries = await simulator.allPages('hie', statusUrl);
    expect(entries).toEqual(
      await simulator.allPages('hie', `/Patient/${patientId}/$everything`),
    );
  });

  test('wraps its answer in a batch-response when it is set to', async () => {
    await simulator.admin.changeSettings({
      hie: { asyncResult: 'batch-response' },
    });
    const { json } = await finished(simulator, await kickOff(simulator));
    expect(json).toMatchObject({
      type: 'batch-response',
      entry: [{ resource: { type: 'searchset' } }],
    });
  });

  test('ends with a manifest of files that together hold the whole record', async () => {
    await simulator.admin.changeSettings({
      hie: { asyncResult: 'manifest', manifestWithErrors: true },
    });
    const { json: manifest } = await finished(
      simulator,
      await kickOff(simulator),
    );
    expect(manifest).toMatchObject({
      requiresAccessToken: true,
      error: [{ type: 'OperationOutcome' }],
    });
    expect(manifest.request).toContain(`/Patient/${patientId}/$everything`);
    const files = await Promise.all(
      manifest.output.map((file: { url: string }) =>
        simulator.ask('hie', file.url),
      ),
    );
    const lines = files.flatMap(({ text }) => text.trim().split('\n'));
    const all = await simulator.allPages(
      'hie',
      `/Patient/${patientId}/$everything`,
    );
    expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual(
      all.map(({ resource }) => resource.id).sort(),
    );
    expect(
      (await simulator.ask('hie', manifest.output[0].url, { token: null }))
        .status,
    ).toBe(401);
  });

  test('gives its files without a token when the manifest says that none is needed', async () => {
    await simulator.admin.changeSettings({
      hie: { asyncResult: 'manifest', manifestRequiresAccessToken: false },
    });
    const { json: manifest } = await finished(
      simulator,
      await kickOff(simulator, '?_type=Condition'),
    );
    expect(manifest).toMatchObject({
      requiresAccessToken: false,
      output: [{ type: 'Condition' }],
    });
    expect(
      (await simulator.ask('hie', manifest.output[0].url, { token: null }))
        .status,
    ).toBe(200);
  });

  test('is forgotten once it is cancelled', async () => {
    const statusUrl = await kickOff(simulator);
    expect(
      (await simulator.ask('hie', statusUrl, { method: 'DELETE' })).status,
    ).toBe(202);
    expect((await simulator.ask('hie', statusUrl)).status).toBe(404);
    expect(
      (await simulator.ask('hie', statusUrl, { method: 'DELETE' })).status,
    ).toBe(404);
  });

  test('is answered at once where the source does not work asynchronously', async () => {
    await simulator.admin.changeSettings({ hie: { async: false } });
    const answer = await simulator.ask(
      'hie',
      `/Patient/${patientId}/$everything`,
      {
        headers: { prefer: 'respond-async' },
      },
    );
    expect(answer.json.type).toBe('searchset');
  });

  test('fails as often as a rule says, then succeeds', async () => {
    await simulator.admin.setRules([
      { source: 'hie', times: 2, fault: { type: 'job-fails' } },
    ]);
    const ends = [];
    for (let round = 0; round < 3; round += 1)
      ends.push(await finished(simulator, await kickOff(simulator)));
    expect(ends.map(({ status }) => status)).toEqual([500, 500, 200]);
    expect(ends[0]?.json.resourceType).toBe('OperationOutcome');
  });

  test('never ends when a rule says so', async () => {
    await simulator.admin.setRules([{ fault: { type: 'job-never-ends' } }]);
    const statusUrl = await kickOff(simulator);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect((await simulator.ask('hie', statusUrl)).status).toBe(202);
  });
});

describe('the callback of a finished job', () => {
  test('comes once, signed with the key of its source, and carries nothing but the status', async () => {
    await kickOff(simulator);
    await vi.waitFor(() => expect(receiver.calls).toHaveLength(1), WAIT);
    const [call] = receiver.calls;
    expect(call?.body).toBe('{"status":"completed"}');
    const webhook = new Webhook(SIMULATOR_CREDENTIALS.callbackSecret);
    expect(() =>
      webhook.verify(call?.body ?? '', call?.headers ?? {}),
    ).not.toThrow();
    const entries = await vi.waitFor(
      async () => {
        const log = await simulator.admin.requests({ operation: 'callback' });
        expect(log.at(-1)).toMatchObject({
          source: 'hie',
          sample: sample().key,
          status: 204,
          path: '',
        });
        return log;
      },
      { timeout: 240_000 },
    );
    expect(JSON.stringify(entries)).not.toContain('secret-path');
  });

  test('comes twice under one message id when a rule doubles it', async () => {
    await simulator.admin.setRules([{ fault: { type: 'doubled-callback' } }]);
    await kickOff(simulator);
    await vi.waitFor(() => expect(receiver.calls).toHaveLength(2), WAIT);
    expect(
      new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])).size,
    ).toBe(1);
  });

  test('is left out, or late, when a rule says so; the job is done all the same', async () => {
    await simulator.admin.setRules([
      { times: 1, fault: { type: 'no-callback' } },
      { times: 1, fault: { type: 'late-callback', delayMs: 800 } },
    ]);
    expect((await finished(simulator, await kickOff(simulator))).status).toBe(
      200,
    );
    expect((await finished(simulator, await kickOff(simulator))).status).toBe(
      200,
    );
    expect(receiver.calls).toHaveLength(0);
    await vi.waitFor(() => expect(receiver.calls).toHaveLength(1), WAIT);
  });
});

describe('a restart of the simulator', () => {
  test('keeps jobs, their callbacks and the request log', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'simulator-'));
    const options = {
      dataDir,
      requestLogPath: join(dataDir, 'requests.jsonl'),
    };
    const slow: SettingsChange = {
      hie: { jobLatencyMs: { min: 800, max: 800 } },
    };
    const before = await startTestSimulator({ ...options, settings: slow });
    const statusPath = new URL(await kickOff(before)).pathname;
    await before.close();
    expect(receiver.calls).toHaveLength(0);

    const after = await startTestSimulator(options);
    expect((await finished(after, `${after.url}${statusPath}`)).status).toBe(
      200,
    );
    await vi.waitFor(() => expect(receiver.calls).toHaveLength(1), WAIT);
    const log = await after.admin.requests();
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(log.map(({ operation }) => operation)).toContain('everything');
    await after.close();

    const again = await startTestSimulator(options);
    expect((await again.ask('hie', `${again.url}${statusPath}`)).status).toBe(
      200,
    );
    expect(receiver.calls).toHaveLength(1);
    await again.close();
    await rm(dataDir, { recursive: true });
  });

  test('answers 404 for a job it no longer knows', async () => {
    const statusPath = new URL(await kickOff(simulator)).pathname;
    const other = await startTestSimulator();
    expect((await other.ask('hie', `${other.url}${statusPath}`)).status).toBe(
      404,
    );
    await other.close();
  });
});

interface ReceivedCall {
  headers: Record<string, string>;
  body: string;
}

async function startReceiver() {
  const calls: ReceivedCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    calls.push({
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString('utf8'),
    });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    calls,
    url: `http://127.0.0.1:${port}/secret-path`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
