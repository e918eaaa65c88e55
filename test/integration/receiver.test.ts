import { createHmac, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { z } from 'zod';
import type { PatientOnboardingStatus } from '../../src/contract/patient-onboarding.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { createReceiver } from '../../src/orchestrator/receiver/app.ts';
import { MessageLog } from '../../src/orchestrator/receiver/message-log.ts';
import {
  createOnboardings,
  type ReceiverOnboardings,
} from '../../src/orchestrator/receiver/onboardings.ts';
import { createTemporalClient } from '../../src/temporal/client.ts';
import { onboardingInput, REQUEST_ID } from '../support/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  type OnboardingEnvironment,
  obliging,
  PATIENT_ID,
  statusOf,
} from '../support/patient-onboarding-environment.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { TEST_DATA_KEYS, TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const newKey = () => `whsec_${Buffer.from(randomUUID()).toString('base64')}`;
const OLD_KEY = newKey();
const KEY = newKey();
const INTAKE_KEY = newKey();

let environment: OnboardingEnvironment;
let onboardings: ReceiverOnboardings;
/** Set by a test that takes Temporal away. */
let temporalIsDown = false;
let logPath: string;
let receiver: ReturnType<typeof createReceiver>;
let url: string;

beforeAll(async () => {
  environment = await createOnboardingEnvironment();
  const real = createOnboardings(environment.environment.client, {
    exchange: { credentialRef: 'api-key' },
    idHmacKey: TEST_ID_HMAC_KEY,
  });
  const orDown =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (temporalIsDown) throw new Error('14 UNAVAILABLE');
      return call(...args);
    };
  onboardings = {
    ...real,
    signalSourceEnd: orDown(real.signalSourceEnd),
    start: orDown(real.start),
  };
});
afterAll(() => environment?.close());
beforeEach(async () => {
  temporalIsDown = false;
  logPath = join(await makeTestFolder(), 'receiver.jsonl');
  await open();
});
afterEach(() => receiver.close());

async function open(use = onboardings): Promise<void> {
  receiver = createReceiver({
    onboardings: use,
    messages: await MessageLog.open(logPath),
    webhookKeys: [KEY, OLD_KEY],
    intakeKeys: [INTAKE_KEY],
    logger: pino({ level: 'silent' }),
  });
  url = await receiver.listen({ host: '127.0.0.1', port: 0 });
}

const hieEnd = (
  orchestrationId: string | undefined,
  messageId: string = randomUUID(),
) => ({
  meta: {
    messageId,
    requestId: REQUEST_ID,
    when: '2026-01-01T00:05:00.000Z',
    type: 'network-query.hie',
    data: orchestrationId === undefined ? undefined : { orchestrationId },
  },
  payload: {
    patientId: PATIENT_ID,
    consolidatedDataUrl: 'https://exchange.test/data',
    source: {
      type: 'hie',
      status: 'completed',
      completedAt: '2026-01-01T00:05:00.000Z',
    },
  },
});

function standardHeaders(
  body: string,
  key = KEY,
  sentAt = new Date(),
): Record<string, string> {
  const id = randomUUID();
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign(id, sentAt, body),
  };
}

async function post(
  path: string,
  body: string,
  headers: Record<string, string>,
) {
  const answer = await request(`${url}${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: (await answer.body.json()) as unknown,
  };
}

const postEvent = (event: object, key = KEY) => {
  const body = JSON.stringify(event);
  return post('/webhooks', body, standardHeaders(body, key));
};

const logged = async (): Promise<unknown[]> =>
  (await readFile(logPath, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('a webhook that is not signed by a key of ours is refused', () => {
  const body = JSON.stringify(hieEnd('x'));
  const hex = (key: string, text = body) =>
    createHmac('sha256', key).update(text).digest('hex');
  test.each([
    ['no signature', {}],
    ['another key', standardHeaders(body, newKey())],
    ['another body', standardHeaders(`${body} `)],
    [
      'older than 300 s',
      standardHeaders(body, KEY, new Date(Date.now() - 301_000)),
    ],
    [
      'from the future',
      standardHeaders(body, KEY, new Date(Date.now() + 3_600_000)),
    ],
    [
      'half of the headers, and the other signature',
      { 'webhook-id': 'x', 'x-metriport-signature': hex(KEY) },
    ],
    [
      'plain signature with another key',
      { 'x-metriport-signature': hex(newKey()) },
    ],
    [
      'plain signature of another body',
      { 'x-metriport-signature': hex(KEY, 'x') },
    ],
    ['plain signature that is no hex', { 'x-metriport-signature': 'zz' }],
  ])('%s', async (_title, headers) => {
    const answer = await post('/webhooks', body, headers);
    expect(answer).toMatchObject({
      status: 401,
      body: { name: 'UNAUTHORIZED', status: 401 },
    });
    await expect(readFile(logPath)).rejects.toThrow();
  });
});

describe('a signed webhook', () => {
  test.each([
    ['the current key', KEY],
    ['the key before, while keys rotate', OLD_KEY],
  ])('is taken with %s', async (_title, key) => {
    expect(await postEvent(hieEnd(undefined), key)).toMatchObject({
      status: 200,
    });
  });

  test('is taken with the plain signature of existing senders', async () => {
    const { meta, ...rest } = hieEnd(undefined);
    const body = JSON.stringify({
      meta: { ...meta, when: new Date().toISOString() },
      ...rest,
    });
    const signature = createHmac('sha256', KEY).update(body).digest('hex');
    expect(
      await post('/webhooks', body, { 'x-metriport-signature': signature }),
    ).toMatchObject({
      status: 200,
    });
  });

  test('reaches its onboarding once, however often and however parallel it is sent, and across a restart', async () => {
    await environment.withWorker(obliging(), async () => {
      const run = await environment.start();
      await expect
        .poll(async () => (await statusOf(run)).requestIds)
        .toEqual([REQUEST_ID]);
      const orchestrationId = run.workflowId.replace('patient-onboarding/', '');
      const event = hieEnd(orchestrationId);

      const answers = await Promise.all([
        postEvent(event),
        postEvent(event),
        postEvent(event),
      ]);
      await receiver.close();
      await open();
      answers.push(await postEvent(event));

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(await statusOf(run)).toMatchObject({
        webhooksReceived: 1,
        sources: [{ type: 'hie', state: 'completed', via: 'webhook' }, {}, {}],
      });
      const signals = (await run.fetchHistory()).events?.filter(
        (entry) => entry.workflowExecutionSignaledEventAttributes != null,
      );
      expect(signals).toHaveLength(1);
      const { messageId } = event.meta;
      const line = {
        messageId,
        type: 'network-query.hie',
        requestId: REQUEST_ID,
      };
      expect(await logged()).toMatchObject([
        { ...line, repeat: false, signalled: true },
        { ...line, repeat: true, signalled: false },
        { ...line, repeat: true, signalled: false },
        { ...line, repeat: true, signalled: false },
      ]);
      await run.terminate();
    });
  });

  test('is sent again by its sender while Temporal is down, and then counts as new', async () => {
    const run = await environment.start();
    const event = hieEnd(run.workflowId.replace('patient-onboarding/', ''));
    temporalIsDown = true;
    const refused = await postEvent(event);
    expect(refused).toMatchObject({
      status: 503,
      body: { name: 'SERVICE_UNAVAILABLE' },
    });
    expect(refused.headers['retry-after']).toBe('5');
    temporalIsDown = false;
    expect(await postEvent(event)).toMatchObject({ status: 200 });
    expect(await logged()).toMatchObject([{ repeat: false, signalled: true }]);
    await run.terminate();
  });

  test.each([
    ['of an onboarding that is not there', hieEnd('unknown-one')],
    ['of a query that no onboarding started', hieEnd(undefined)],
    [
      'of a type that we do not know',
      { meta: { messageId: randomUUID(), type: 'patient.admit', data: null } },
    ],
    ['with an orchestration id that is none', hieEnd('../../x y')],
    [
      'that names no query',
      {
        meta: { messageId: randomUUID(), type: 'network-query.lab' },
        payload: 7,
      },
    ],
  ])(
    '%s is taken and noted, for nobody would be helped by a repeat',
    async (_title, event) => {
      expect(await postEvent(event)).toMatchObject({ status: 200 });
      expect(await logged()).toMatchObject([
        { signalled: false, repeat: false },
      ]);
    },
  );

  test('leaves ids only in the log', async () => {
    await postEvent({ ...hieEnd('x'), patient: { firstName: 'Jane' } });
    const [line] = await logged();
    expect(Object.keys(line as object).sort()).toEqual([
      'at',
      'messageId',
      'repeat',
      'requestId',
      'signalled',
      'type',
    ]);
  });

  test('that is a ping is answered with its pong', async () => {
    const ping = {
      ping: 'abc',
      meta: { messageId: randomUUID(), type: 'ping', when: 'x' },
    };
    expect(await postEvent(ping)).toMatchObject({
      status: 200,
      body: { pong: 'abc' },
    });
  });

  test.each([
    ['no JSON', 'Jane'],
    ['no webhook', '{"meta":{}}'],
    ['empty', ''],
  ])('that is %s is a 400', async (_t, body) => {
    expect(await post('/webhooks', body, standardHeaders(body))).toMatchObject({
      status: 400,
    });
  });

  test('that is too large is a 413', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(1_100_000) });
    expect(await post('/webhooks', body, standardHeaders(body))).toMatchObject({
      status: 413,
    });
  });
});

describe('an intake', () => {
  const { facilityId, patient } = onboardingInput();
  const intake = (overrides: object = {}) => ({
    jobId: `MRN-${randomUUID()}`,
    facilityId,
    patient,
    ...overrides,
  });
  const postIntake = (body: object, key = INTAKE_KEY) => {
    const text = JSON.stringify(body);
    return post('/intake', text, standardHeaders(text, key));
  };

  test('starts the onboarding of its job once, signals a repeat to it, and hides the job id', async () => {
    const body = intake();
    const answers = [await postIntake(body), await postIntake(body)];
    expect(answers).toMatchObject([{ status: 202 }, { status: 202 }]);
    const workflowId = z
      .object({ workflowId: z.string() })
      .parse(answers[0]?.body).workflowId;
    expect(answers[1]?.body).toEqual({ workflowId });
    expect(workflowId).toMatch(/^patient-onboarding\/[0-9a-f]{32}$/);

    await environment.withWorker(obliging(), async () => {
      const run = environment.environment.client.workflow.getHandle(workflowId);
      await expect
        .poll(() => run.query<PatientOnboardingStatus>('status'))
        .toMatchObject({
          phase: 'querying',
          intakes: 2,
          sources: [{}, {}, {}],
        });
      await run.terminate();
    });
    // Ended: the job is done, and not done again.
    expect(await postIntake(body)).toMatchObject({
      status: 202,
      body: { workflowId },
    });
    const { status } = await environment.environment.client.workflow
      .getHandle(workflowId)
      .describe();
    expect(status.name).toBe('TERMINATED');
  });

  test('of another person under a used job id is refused in words that name nobody, and starts nothing', async () => {
    const body = intake();
    const other = {
      ...body,
      patient: { ...patient, firstName: 'Somebody Else' },
    };
    expect(await postIntake(body)).toMatchObject({ status: 202 });
    const refused = await postIntake(other);
    expect(refused).toMatchObject({
      status: 422,
      body: { name: 'UNPROCESSABLE_CONTENT' },
    });
    expect(JSON.stringify(refused.body)).not.toContain('Somebody');
  });

  test('that breaks a rule is answered with each path and what is wrong', async () => {
    const wrong = intake({
      facilityId: undefined,
      patient: { ...patient, dob: '1990-13-01', genderAtBirth: 'X' },
    });
    const answer = await postIntake(wrong);
    expect(answer.headers['content-type']).toContain(
      'application/problem+json',
    );
    expect(answer).toMatchObject({
      status: 400,
      body: {
        name: 'BAD_REQUEST',
        title: 'Missing or invalid parameters',
        errors: expect.arrayContaining([
          { path: 'facilityId', message: 'facilityId is required' },
          { path: 'patient.dob', message: expect.any(String) },
          { path: 'patient.genderAtBirth', message: expect.any(String) },
        ]),
      },
    });
  });

  test('is refused when the webhook key signed it, not the intake key', async () => {
    expect(await postIntake(intake(), KEY)).toMatchObject({ status: 401 });
  });

  test('is sent again by its sender while Temporal is down', async () => {
    temporalIsDown = true;
    expect(await postIntake(intake())).toMatchObject({ status: 503 });
  });
});

test('a Temporal server that is really away is a 503, not a wait without end', async () => {
  const away = await createTemporalClient(
    {
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_API_KEY: undefined,
      DATA_KEYS: TEST_DATA_KEYS,
    },
    { lazy: true },
  );
  await receiver.close();
  await open(
    createOnboardings(away, {
      exchange: { credentialRef: 'api-key' },
      idHmacKey: TEST_ID_HMAC_KEY,
    }),
  );
  expect(await postEvent(hieEnd('some-orchestration'))).toMatchObject({
    status: 503,
  });
  expect((await request(`${url}/ready`)).statusCode).toBe(503);
  expect((await request(`${url}/health`)).statusCode).toBe(200);
  await away.connection.close();
});

test('health and readiness show whether the process lives and Temporal can be reached', async () => {
  const get = async (path: string) =>
    (await request(`${url}${path}`)).statusCode;
  expect(await get('/health')).toBe(200);
  expect(await get('/ready')).toBe(200);
  expect(await get('/nothing')).toBe(404);
});
