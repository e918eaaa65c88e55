import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  buildDiscoveryAcknowledgement,
  DISCOVERY_ACTIONS,
  descendantsNamed,
  type Envelope,
  FAULT_ACTION,
  IheError,
  newMessageId,
  plainMessage,
  readEnvelope,
  readPatientDiscoveryResponse,
  writeEnvelope,
  writeFault,
} from '#ihe';
import { createDeferredQuestions } from '../../src/exchange/delivery/responding-gateway/deferred-questions.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  askerAt,
  criteriaFor,
  discoveryOf,
  joinNetwork,
  makeNetworkOf,
  OUR_HOME,
  openTestRespondingGateway,
  type TestAsker,
  THEIR_HOME,
} from '../support/network-members.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';

let gateway: TestGateway;
let account: TestAccount;
let network: Awaited<ReturnType<typeof makeNetworkOf<'ours' | 'theirs'>>>;
let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
let asker: TestAsker;
let questions: ReturnType<typeof createDeferredQuestions>;
let receiver: Server;
/** Answers that came to the other gateway. */
const received: Envelope[] = [];
let isAway = false;
/** Set, the worker dies when the answer has been taken. */
let diesAfterAnswer = false;
let isDead = false;
/** Ids of the questions whose workflow was started. */
const started: string[] = [];

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  network = await makeNetworkOf('ours', 'theirs');
  questions = createDeferredQuestions({
    store: mortal(gateway.store),
    keyRing: testKeyRing(),
    idHmacKey: TEST_ID_HMAC_KEY,
    logger: pino({ level: 'silent' }),
    temporal: notingTemporal(),
  });
  const { authority, members } = network;
  const membership = await joinNetwork(gateway, account.accountId, authority, {
    communities: [{ homeCommunity: THEIR_HOME, host: 'localhost' }],
  });
  port = await openTestRespondingGateway(gateway, members.ours, {
    acceptDeferred: questions.accept,
  });
  asker = askerAt(port.addressOf(membership), members.theirs, authority);
  receiver = createServer(
    {
      cert: members.theirs.certificate,
      key: members.theirs.privateKey,
      ca: authority,
      requestCert: true,
    },
    (request, response) => {
      receive(request, response).catch(() => response.destroy());
    },
  ).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
});
afterAll(async () => {
  await questions.drain();
  await asker.client.close();
  receiver.closeAllConnections();
  receiver.close();
  await port.close();
  await gateway.close();
});

/** The store of a worker: what comes after its death is not written. */
const mortal = (store: Store): Store => ({
  ...store,
  asSystem: (...of) => store.asSystem(...of),
  asResponder: (...of) => store.asResponder(...of),
  asAccount: (...of) =>
    isDead
      ? Promise.reject(new Error('The worker is dead'))
      : store.asAccount(...of),
});

/** Temporal, as far as the start of a workflow needs it. */
function notingTemporal(): Parameters<
  typeof createDeferredQuestions
>[0]['temporal'] {
  const workflow = {
    start: async (
      _type: string,
      { args }: { args: { questionId: string }[] },
    ) => void started.push(args[0]?.questionId ?? ''),
  };
  return {
    workflow,
    withDeadline: <T>(_until: number, work: () => Promise<T>) => work(),
  } as unknown as Parameters<typeof createDeferredQuestions>[0]['temporal'];
}

async function receive(request: IncomingMessage, response: ServerResponse) {
  const envelope = await readEnvelope(request, request.headers['content-type']);
  if (!isAway) received.push(envelope);
  isDead = diesAfterAnswer;
  const head = {
    messageId: { root: '2.999.2.1', extension: '1' },
    sentAt: new Date(),
    processing: 'P' as const,
    sender: { deviceId: THEIR_HOME },
    receiver: { deviceId: OUR_HOME },
  };
  const action = isAway ? FAULT_ACTION : DISCOVERY_ACTIONS.acknowledgement;
  const message = plainMessage(
    writeEnvelope({
      action,
      messageId: newMessageId(),
      relatesTo: envelope.messageId ?? '',
      body: isAway
        ? writeFault({ code: 'Receiver', reason: 'away' })
        : buildDiscoveryAcknowledgement(head, { messageId: undefined }),
    }),
    action,
  );
  response.writeHead(isAway ? 500 : 200, {
    'content-type': message.contentType,
  });
  await pipeline(message.body, response);
}

const respondTo = () =>
  `https://localhost:${(receiver.address() as AddressInfo).port}/answers`;

const ask = (person: ReturnType<typeof newPerson>, to: string) =>
  asker.send(
    DISCOVERY_ACTIONS.deferredQuestion,
    discoveryOf(criteriaFor(person), { respondTo: to }),
  );

async function newVisiblePatient(person: ReturnType<typeof newPerson>) {
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    person,
  );
  const { id } = created.json();
  const resource = {
    resourceType: 'Condition',
    id: '1',
    code: { text: 'Gout' },
  };
  const body = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ resource }],
  };
  const put = await account.call('PUT', `patient/${id}/consolidated`, body);
  expect(put.statusCode, put.body).toBe(200);
  return id;
}

test('a deferred question is acknowledged, answered by a message of its own that names it, and forgotten', async () => {
  const person = newPerson();
  const patientId = await newVisiblePatient(person);
  const acknowledged = await ask(person, respondTo());
  expect(acknowledged.payload?.name).toBe('MCCI_IN000002UV01');
  await expect.poll(() => started.length, { timeout: 240_000 }).toBe(1);

  const question = {
    accountId: account.accountId,
    questionId: started[0] ?? '',
  };
  const deliver = () =>
    questions.deliver(
      question,
      network.members.ours.credentials,
      new AbortController().signal,
    );
  isAway = true;
  await expect(deliver()).rejects.toThrow(IheError);
  isAway = false;
  expect(await deliver()).toEqual({ state: 'delivered' });
  // A step that runs again has nothing to send.
  expect(await deliver()).toEqual({ state: 'gone' });

  const [answer] = received;
  expect(received).toHaveLength(1);
  expect(answer).toMatchObject({
    action: DISCOVERY_ACTIONS.deferredAnswer,
    relatesTo: acknowledged.relatesTo,
  });
  expect(
    answer?.payload && readPatientDiscoveryResponse(answer.payload),
  ).toMatchObject({
    outcome: 'found',
    patients: [{ patientId: { extension: patientId } }],
  });

  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{ outcome: string; question: null; audited: number }>`
      select outcome, question, (select count(*) from audit_entry
        where patient_id = ${patientId} and operation = 'gatewayDiscovery') as audited
      from deferred_question where id = ${question.questionId}`.execute(tx.db),
  );
  expect(rows).toEqual([{ outcome: 'delivered', question: null, audited: 1 }]);
});

test('an answer that was taken before the worker died is sent again, names the same question, and is disclosed once', async () => {
  const patientId = await newVisiblePatient(
    newPerson({ firstName: 'Mortal', lastName: 'Sample' }),
  );
  received.length = 0;
  started.length = 0;
  await ask(
    newPerson({ firstName: 'Mortal', lastName: 'Sample' }),
    respondTo(),
  );
  await expect.poll(() => started.length, { timeout: 240_000 }).toBe(1);
  const deliver = () =>
    questions.deliver(
      { accountId: account.accountId, questionId: started[0] ?? '' },
      network.members.ours.credentials,
      new AbortController().signal,
    );

  diesAfterAnswer = true;
  await expect(deliver()).rejects.toThrow('The worker is dead');
  diesAfterAnswer = false;
  isDead = false;
  expect(await deliver()).toEqual({ state: 'delivered' });
  expect(await deliver()).toEqual({ state: 'gone' });

  // What the other side knows a repeated answer by.
  const named = received.map(({ relatesTo, payload }) => [
    relatesTo,
    payload &&
      descendantsNamed(payload, payload.namespace, 'queryId')[0]?.attributes,
  ]);
  expect(named).toHaveLength(2);
  expect(named[1]).toEqual(named[0]);
  const { rows } = await gateway.store.asSystem((tx) =>
    sql`select from audit_entry where patient_id = ${patientId} and operation = 'gatewayDiscovery'`.execute(
      tx.db,
    ),
  );
  expect(rows).toHaveLength(1);
});

test('an answer is promised only to the host of the community, by https', async () => {
  for (const to of [
    'https://elsewhere.test/',
    respondTo().replace('https', 'http'),
    'https://localhost.elsewhere.test/',
    'https://localhost@elsewhere.test/',
    'https://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'localhost',
  ])
    await expect(ask(newPerson(), to)).rejects.toMatchObject({
      code: 'fault.sender',
    });
  expect(started).toHaveLength(1);
});

test('a question is stored encrypted', async () => {
  const person = newPerson();
  await ask(person, respondTo());
  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{
      question: Buffer;
    }>`select question from deferred_question where question is not null`.execute(
      tx.db,
    ),
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const { question } of rows)
    expect(question.toString('latin1')).not.toContain(person.lastName);
});
