import { createHash } from 'node:crypto';
import fastify from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { newMessageId, writeEnvelope, writeFault } from '#ihe';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { addDeferredAnswerRoute } from '../../src/exchange/queries/network-query/deferred-answer-route.ts';
import { createDeferredAnswers } from '../../src/exchange/queries/network-query/deferred-answers.ts';
import { readRecordCompleteness } from '../../src/exchange/records/reading/completeness.ts';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createIheConnector } from '../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import { iheSettingsSchema } from '../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { SIMULATED_GATEWAY } from '../../src/local-stack/simulator/protocol.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { personOf } from '../support/deliveries.ts';
import {
  CALLBACK_KEY,
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import {
  GATEWAY_COMMUNITY,
  type GatewayDocument,
  holding,
  matchFor,
  OUR_COMMUNITY,
  type RespondingGateway,
  startRespondingGateway,
} from '../support/responding-gateway.ts';
import { sample, startTestSimulator } from '../support/simulator.ts';
import { testKeyRing } from '../support/test-keys.ts';

// A source that is a gateway by IHE's XCPD and XCA: its documents become record.

const { createBody } = sample();
const [address] = createBody.address;
const MATCH = matchFor({
  firstName: createBody.firstName,
  lastName: createBody.lastName,
  dob: createBody.dob,
  gender: createBody.genderAtBirth,
  line: address?.addressLine1 ?? '',
  city: address?.city ?? '',
  state: address?.state ?? '',
  zip: address?.zip ?? '',
});
const SUMMARY: GatewayDocument = {
  uniqueId: '1.2.3.1',
  bytes: loadCcda(sample()),
};
/** Another person's document, under our patient's id. */
const MISFILED: GatewayDocument = {
  uniqueId: '1.2.3.2',
  bytes: loadCcda(sample('adan-fuentes')),
};
const notes = Array.from({ length: 7 }, (_, index) => ({
  uniqueId: `1.2.4.${index}`,
  bytes: Buffer.from(`note ${index}`),
  mimeType: 'text/plain',
}));

let gateway: RespondingGateway;
let environment: QueryEnvironment;
beforeAll(async () => {
  gateway = await startRespondingGateway({
    discover: () => ({ patients: [MATCH] }),
    ...holding([SUMMARY]),
  });
  environment = await createQueryEnvironment();
});
afterAll(async () => {
  await environment?.close();
  await gateway?.close();
});

const connector = (
  documentsPerRetrieval = 5,
  settings: object = {},
): SourceConnector =>
  createIheConnector(
    {
      source: 'hie',
      baseUrl: `${gateway.url}/discovery`,
      auth: { kind: 'none' },
    },
    iheSettingsSchema.parse({
      queryUrl: `${gateway.url}/query`,
      retrieveUrl: `${gateway.url}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
      documentsPerRetrieval,
      ...settings,
    }),
  );

async function addPatient() {
  const { accountId } = await environment.addAccount();
  const patientId = uuidv7();
  await environment.store.asAccount(accountId, (tx) =>
    insertPatient(
      tx,
      patientId,
      newContent(personOf(sample()), {}, [uuidv7()]),
      [],
    ),
  );
  return { accountId, patientId };
}

async function stateOf(accountId: string, patientId: string) {
  return environment.store.asAccount(accountId, async (tx) => ({
    converted: (
      await tx.db
        .selectFrom('patient_resource')
        .select('resource_type')
        .distinct()
        .where('patient_id', '=', patientId)
        .where('converted_from', 'is not', null)
        .execute()
    ).map(({ resource_type }) => resource_type),
    files: (
      await tx.db
        .selectFrom('document')
        .select('sha256')
        .where('patient_id', '=', patientId)
        .where('kind', '=', 'attachment')
        .execute()
    ).map(({ sha256 }) => sha256.toString('hex')),
    completeness: await readRecordCompleteness(tx, patientId),
  }));
}

test("a gateway's documents become record, without those that are another person's", async () => {
  gateway.behave(holding([SUMMARY, MISFILED]));
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const { askSource } = environment.activities(connector());
  await runActivity(askSource, stepOf(accountId, requestId, 'hie'));
  const { converted, files, completeness } = await stateOf(
    accountId,
    patientId,
  );
  expect(converted).toEqual(
    expect.arrayContaining(['Condition', 'Encounter', 'Observation']),
  );
  expect(files).toHaveLength(2);
  expect(
    completeness.sources.find(({ source }) => source === 'hie'),
  ).toMatchObject({ state: 'completed' });
  const told = (await environment.timeline(accountId, requestId))
    .map(({ message }) => message)
    .join('\n');
  expect(told).toContain('it names another person');

  // Nothing changed: nothing is retrieved anew.
  const before = gateway.asked.retrievals.length;
  const again = await environment.addQuery(accountId, patientId, ['hie']);
  await runActivity(askSource, stepOf(accountId, again, 'hie'));
  expect(gateway.asked.retrievals).toHaveLength(before);
  expect((await stateOf(accountId, patientId)).converted).toEqual(converted);
});

test('a query that is killed after any of its pages retrieves each document once', async () => {
  gateway.behave(holding(notes));
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  const before = gateway.asked.retrievals.length;
  const whole = connector(2);
  let pagesLeft = 0;
  /** Ends like a process that is killed before it stores the next page. */
  async function* dying(pages: AsyncIterable<SourcePage>) {
    for await (const page of pages) {
      if (pagesLeft === 0) throw new Error('killed');
      pagesLeft -= 1;
      yield page;
    }
  }
  const mortal: SourceConnector = {
    ...whole,
    begin: async (...args) => {
      const begun = await whole.begin(...args);
      return begun.kind === 'ready'
        ? { ...begun, pages: dying(begun.pages) }
        : begun;
    },
    resume: (...args) => dying(whole.resume(...args)),
  };
  const { askSource } = environment.activities(mortal);
  let isDone = false;
  for (let kills = 0; kills < 10 && !isDone; kills += 1) {
    pagesLeft = 1;
    isDone = await runActivity(askSource, step).then(
      ({ state }) => state === 'completed',
      () => false,
    );
  }
  expect(isDone).toBe(true);
  const { files } = await stateOf(accountId, patientId);
  expect(new Set(files).size).toBe(notes.length);
  expect(files).toHaveLength(notes.length);
  // What was received and not stored is asked for again, and nothing else.
  const asked = gateway.asked.retrievals.slice(before);
  const stored = new Set(asked.map((batch) => JSON.stringify(batch)));
  expect(stored.size).toBe(4);
});

/** Our door for answers that come later, on a port of its own. */
async function openDoor() {
  const signalled: string[] = [];
  const statuses: number[] = [];
  const app = fastify();
  app.addHook('onResponse', async (_request, { statusCode }) => {
    statuses.push(statusCode);
  });
  const port = await freePort();
  const deferredAnswers = createDeferredAnswers({
    store: environment.store,
    keyRing: testKeyRing(),
    callbackKey: CALLBACK_KEY,
    publicBaseUrl: `http://127.0.0.1:${port}`,
  });
  addDeferredAnswerRoute(app, {
    store: environment.store,
    deferredAnswers,
    sourceCallbacks: {
      announce: async ({ requestId }) => void signalled.push(requestId),
    },
  });
  onTestFinished(() => app.close());
  await app.listen({ port, host: '127.0.0.1' });
  return { deferredAnswers, signalled, statuses };
}

test('an answer that comes later is taken by the query that waits for it', async () => {
  gateway.behave({
    discover: () => ({ patients: [MATCH] }),
    ...holding(notes),
  });
  const { deferredAnswers, signalled } = await openDoor();
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  const { askSource, collectSource } = environment.activities(
    connector(5, { answers: 'deferred' }),
    { deferredAnswers },
  );
  const before = gateway.asked.deferred.length;
  expect(await runActivity(askSource, step)).toMatchObject({
    state: 'waiting',
  });
  expect(await runActivity(collectSource, step)).toMatchObject({
    state: 'waiting',
  });
  const [answer] = gateway.asked.deferred.slice(before);
  // Of another message: refused, and nothing is stored.
  expect(await answer?.('urn:uuid:of-another')).toBe(500);
  expect(await runActivity(collectSource, step)).toMatchObject({
    state: 'waiting',
  });
  expect(await answer?.()).toBe(200);
  // A gateway may send it twice.
  expect(await answer?.()).toBe(200);
  expect(signalled).toEqual([requestId]);
  expect(await runActivity(collectSource, step)).toMatchObject({
    state: 'completed',
  });
  expect((await stateOf(accountId, patientId)).files).toHaveLength(
    notes.length,
  );
  expect(gateway.asked.deferred.length).toBe(before + 1);
});

test('the answer that a gateway sends to ReplyTo, after a 202, is taken by the query', async () => {
  const simulator = await startTestSimulator();
  onTestFinished(() => simulator.close());
  const { discovery, query, retrieve, homeCommunity } = SIMULATED_GATEWAY;
  const asynchronous = createIheConnector(
    {
      source: 'hie',
      baseUrl: `${simulator.url}${discovery}`,
      auth: { kind: 'none' },
    },
    iheSettingsSchema.parse({
      queryUrl: `${simulator.url}${query}`,
      retrieveUrl: `${simulator.url}${retrieve}`,
      homeCommunity,
      ownHomeCommunity: OUR_COMMUNITY,
      answers: 'asynchronous',
    }),
  );
  const { deferredAnswers, signalled, statuses } = await openDoor();
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  const { askSource, collectSource } = environment.activities(asynchronous, {
    deferredAnswers,
  });
  expect(await runActivity(askSource, step)).toMatchObject({
    state: 'waiting',
  });
  await expect.poll(() => signalled).toEqual([requestId]);
  // Nobody answers an answer: the address takes it, and no more.
  await expect.poll(() => statuses).toEqual([202]);
  expect(await runActivity(collectSource, step)).toMatchObject({
    state: 'completed',
  });
  const summary = createHash('sha256').update(SUMMARY.bytes).digest('hex');
  const { files } = await stateOf(accountId, patientId);
  expect(files).toContain(summary);
});

test('a fault that a gateway sends to ReplyTo ends the wait, and is not said to be nobody', async () => {
  let replyTo: string | undefined;
  let question: string | undefined;
  gateway.behave({
    intercept: async (envelope, response) => {
      replyTo = envelope.replyTo;
      question = envelope.messageId;
      response.writeHead(202).end();
      return true;
    },
  });
  onTestFinished(() => gateway.behave({ intercept: undefined }));
  const { deferredAnswers, signalled } = await openDoor();
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  const { askSource, collectSource } = environment.activities(
    connector(5, { answers: 'asynchronous' }),
    { deferredAnswers },
  );
  await runActivity(askSource, step);
  const sendFault = async (relatesTo: string | undefined) => {
    const { status } = await fetch(replyTo ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/soap+xml; charset=UTF-8' },
      body: writeEnvelope({
        action: 'http://www.w3.org/2005/08/addressing/fault',
        messageId: newMessageId(),
        relatesTo,
        body: writeFault({
          code: 'Receiver',
          reason: 'No answer about Jane Q. Public',
        }),
      }),
    });
    return status;
  };
  expect(await sendFault(newMessageId())).toBe(500);
  expect(await sendFault(question)).toBe(202);
  expect(signalled).toEqual([requestId]);
  await expect(runActivity(collectSource, step)).rejects.toThrow(
    /with the SOAP fault Receiver$/,
  );
  // The next try asks anew.
  const first = question;
  expect(await runActivity(collectSource, step)).toMatchObject({
    state: 'waiting',
  });
  expect(question).not.toBe(first);
});

test('an answer that comes after the end is told, and the next query uses it', async () => {
  gateway.behave({
    discover: () => ({ patients: [MATCH] }),
    ...holding(notes),
  });
  const { deferredAnswers, signalled } = await openDoor();
  const { accountId, patientId } = await addPatient();
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const activities = environment.activities(
    connector(5, { answers: 'deferred' }),
    { deferredAnswers },
  );
  const before = gateway.asked.deferred.length;
  await runActivity(activities.askSource, stepOf(accountId, requestId, 'hie'));
  await environment.store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('network_query_attempt')
      .set({ status: 'failed', reason: 'No answer within 46 hours' })
      .where('query_id', '=', requestId)
      .execute(),
  );
  expect(await gateway.asked.deferred[before]?.()).toBe(200);
  expect(signalled).toEqual([]);
  const told = await environment.timeline(accountId, requestId);
  expect(told.map(({ message }) => message).join()).toContain(
    'the next query uses the answer',
  );
  const next = await environment.addQuery(accountId, patientId, ['hie']);
  expect(
    await runActivity(activities.askSource, stepOf(accountId, next, 'hie')),
  ).toMatchObject({ state: 'completed' });
  expect(gateway.asked.deferred.length).toBe(before + 1);
});
