import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const ID = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const PATIENT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a02';
const DOCUMENT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a03';

const message = {
  id: ID,
  patientId: PATIENT,
  direction: 'outbound',
  status: 'processing',
  transportMethod: 'direct',
  destination: 'dr@direct.example.org',
  subject: 'Referral\u001b[31m',
  body: 'One\nTwo\u0007',
  attachments: [DOCUMENT],
  sentAt: '2026-11-21T12:00:00.000Z',
  updatedAt: '2026-11-21T12:00:00.000Z',
};

let exchange: Stub;
/**
 * The states that successive polls of the message return; the last one stays.
 */
let ends: object[];
beforeEach(async () => {
  ends = [message];
  exchange = await startStub();
  exchange.answer = ({ method, url }) => {
    if (method === 'POST') return { status: 200, body: message };
    if (url.includes(ID))
      return { status: 200, body: ends.length > 1 ? ends.shift() : ends[0] };
    const page = `${exchange.url}/medical/v1/message`;
    const meta = {
      itemsOnPage: 1,
      itemsInTotal: 3,
      nextPage: `${page}?fromItem=abc&count=1`,
    };
    return { status: 200, body: { messages: [message], meta } };
  };
});
afterEach(() => exchange.close());

const messages = (...argv: string[]) =>
  starter([
    'messages',
    ...argv,
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
  ]);
const send = (...argv: string[]) =>
  messages(
    'send',
    PATIENT,
    '--to',
    'dr@direct.example.org',
    '--subject',
    'Referral',
    ...argv,
  );

test('a list passes every filter on, and says how to get the next page', async () => {
  const filters = [
    '--direction',
    'outbound',
    '--patient',
    PATIENT,
    '--destination',
    '1.2.3',
  ];
  const paging = [
    '--status',
    'processing',
    '--sort',
    'sentAt=asc',
    '--count',
    '1',
    '--to-item',
    'xyz',
  ];
  const run = await messages('list', ...filters, ...paging, '--json');
  expect(run.json()).toMatchObject({
    messages: [{ id: ID }],
    itemsInTotal: 3,
    fromItem: 'abc',
    exitCode: 0,
  });
  const asked = new URL(exchange.requests[0]?.url ?? '', exchange.url);
  expect(Object.fromEntries(asked.searchParams)).toEqual({
    direction: 'outbound',
    patientId: PATIENT,
    destination: '1.2.3',
    status: 'processing',
    sort: 'sentAt=asc',
    count: '1',
    toItem: 'xyz',
  });
  expect((await messages('list')).stdout).toContain(
    'Next page: --from-item abc',
  );
});

test.each([
  [{ status: 'completed' }, 0],
  [{ status: 'failed', reason: 'The network refused the message' }, 4],
])('what is sent is followed to its end: %o', async (end, exitCode) => {
  ends = [message, { ...message, ...end }];
  const run = await send(
    '--body',
    'Hello',
    '--attach',
    DOCUMENT,
    '--npi',
    '1234567893',
    '--json',
  );
  expect(run.exitCode).toBe(exitCode);
  expect(run.json()).toMatchObject({ message: { id: ID, ...end } });
  expect(JSON.parse(exchange.requests[0]?.body ?? '')).toEqual({
    destination: 'dr@direct.example.org',
    subject: 'Referral',
    body: 'Hello',
    attachments: [DOCUMENT],
    intendedRecipientNpi: ['1234567893'],
  });
  expect(exchange.requests[0]?.headers['idempotency-key']).toBeDefined();
});

test('following ends with --timeout, the transmission does not', async () => {
  const run = await send('--body', 'Hello', '--timeout', '0.2');
  expect(run.exitCode).toBe(6);
  expect(run.stdout).toContain(`messages show ${ID}`);
  expect((await send('--body', 'Hello', '--no-wait')).exitCode).toBe(0);
});

test('a message is shown whole, and nothing of it steers the terminal', async () => {
  const { stdout, exitCode } = await messages('show', ID);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`Attachments: ${DOCUMENT}`);
  expect(stdout).toContain('One\nTwo');
  for (const control of ['\u001b', '\u0007'])
    expect(stdout).not.toContain(control);
});

test.each([
  ['send without an address', ['send', PATIENT, '--subject', 'x']],
  ['a direction that is none', ['list', '--direction', 'sideways']],
  ['both ends of a page', ['list', '--from-item', 'a', '--to-item', 'b']],
  ['a simulator that is not there', ['simulate']],
])('%s is a wrong option', async (_, argv) => {
  expect((await messages(...argv)).exitCode).toBe(2);
  expect(exchange.requests).toEqual([]);
});

test.each([
  ['no way back', ['--ias'], '--redirect-url'],
  [
    'nobody to play',
    ['--ias', '--redirect-url', 'https://a.example/', '--simulate-person'],
    'simulator',
  ],
  [
    'a way back from nowhere',
    ['--redirect-url', 'https://a.example/'],
    '--ias',
  ],
])('individual access with %s is a wrong option', async (_, argv, told) => {
  const common = [
    '--sample',
    'keith-kiehn',
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
  ];
  const run = await starter(['onboard', ...common, ...argv]);
  expect([run.exitCode, run.stderr]).toEqual([
    2,
    expect.stringContaining(told),
  ]);
});
