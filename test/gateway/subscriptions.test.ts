import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { revokeClient } from '../../src/exchange/access/fhir-clients/client-store.ts';
import { deletePatient } from '../../src/exchange/operations/erasure/delete-patient.ts';
import { readOperationsReport } from '../../src/exchange/operations/ops/report.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { delivery } from '../support/deliveries.ts';
import { diagnosticsIn } from '../support/fhir-door.ts';
import { runActivity } from '../support/network-query-environment.ts';
import {
  createSubscriptionDoor,
  ENCOUNTERS,
  FEED,
  GUIDE,
  QUERIES,
  type SubscriptionDoor,
  statusIn,
  subscriptionTo,
} from '../support/subscriptions.ts';
import { takeUp } from '../support/take-up.ts';
import { withholdLabels } from '../support/withhold.ts';

let door: SubscriptionDoor;
let patientId: string;
beforeAll(async () => {
  door = await createSubscriptionDoor();
  patientId = await door.addPerson();
});
beforeEach(async () => {
  await door.store.asSystem((tx) =>
    tx.db
      .deleteFrom('webhook_destination')
      .where('is_subscription', '=', true)
      .execute(),
  );
  await door.received();
  door.state.status = 200;
});
afterAll(() => door.close());

const statusOf = async (id: string) =>
  statusIn((await door.call('GET', `Subscription/${id}/$status`)).json());
const told = async (id: string, query = '') =>
  statusIn(
    (await door.call('GET', `Subscription/${id}/$events${query}`)).json(),
  ).told;
const drop = (id: string) => door.call('DELETE', `Subscription/${id}`);
const byTriggers = (
  left: ReturnType<typeof statusIn>['told'],
  right: ReturnType<typeof statusIn>['told'],
) => String(left[0]?.triggers).localeCompare(String(right[0]?.triggers));
/**
 * Commits a message as the end of a source's answer, or a sender's
 * notification, does.
 */
const announce = (type: string, about = patientId, payload: object = {}) =>
  door.store.asAccount(door.accountId, (tx) =>
    insertEvent(tx, {
      type,
      factKey: uuidv7(),
      patientId: about,
      occurredAt: new Date(),
      body: { meta: { type }, payload },
    }),
  );
/** What the workflow of the destination does when something is due. */
async function deliverDue(destinationId: string): Promise<void> {
  const { deliverDue: deliver } = createWebhookActivities({
    store: door.store,
    delivery: door.deliveries,
  });
  await runActivity(deliver, {
    accountId: door.accountId,
    destinationId,
    dueNow: true,
  });
}

describe('a subscription to what changes about patients', () => {
  test('is requested, active once the endpoint accepted the handshake, and told of each change by its number', async () => {
    const made = await door.call(
      'POST',
      'Subscription',
      subscriptionTo(door.receiver.url, {
        channel: { header: ['Authorization: Bearer its-secret', 'X-Tag: a'] },
      }),
    );
    expect(made.statusCode, made.body).toBe(201);
    const subscription = made.json();
    expect(subscription).toMatchObject({
      status: 'requested',
      criteria: FEED,
      meta: { versionId: '1' },
    });
    expect(subscription.channel.header).toEqual([
      'Authorization: ********',
      'X-Tag: ********',
    ]);
    expect(made.headers.location).toMatch(
      new RegExp(`/fhir/R4/Subscription/${subscription.id}$`),
    );
    expect(made.headers.etag).toBe('"v1"');

    await door.webhookDispatcher.drain();
    const [{ headers } = { headers: {} }] = door.receiver.received;
    expect(headers).toMatchObject({
      authorization: 'Bearer its-secret',
      'x-tag': 'a',
      'content-type': 'application/fhir+json',
    });
    expect(headers).not.toHaveProperty('webhook-signature');
    const [handshake] = await door.received();
    expect(handshake).toMatchObject({
      resourceType: 'Bundle',
      type: 'history',
      entry: [
        {
          request: {
            method: 'GET',
            url: expect.stringMatching(/\/Subscription\/[\w-]+\/\$status$/),
          },
          response: { status: '200' },
        },
      ],
    });
    if (handshake === undefined) throw new Error('no handshake');
    expect(statusIn(handshake)).toMatchObject({
      type: 'handshake',
      status: 'requested',
      events: 0,
      told: [],
    });
    expect(await statusOf(subscription.id)).toMatchObject({
      type: 'query-status',
      status: 'active',
      events: 0,
    });

    await door.deliverObservation(patientId);
    await door.deliverObservation(patientId);
    const bundles = await door.received();
    const events = bundles.map((bundle) => statusIn(bundle));
    expect(
      events.flatMap((each) => each.told.map(({ number }) => number)),
    ).toEqual([1, 2]);
    expect(events[1]).toMatchObject({
      type: 'event-notification',
      status: 'active',
      events: 2,
      topic: FEED,
    });
    const [{ focus = '', triggers } = {}] = events[0]?.told ?? [];
    expect(focus).toMatch(/^Observation\/[\w-]+$/);
    expect(triggers).toEqual(['feed-event', 'create']);
    expect(bundles[0]?.entry).toHaveLength(1);
    expect((await door.call('GET', focus)).statusCode).toBe(200);
    expect(await told(subscription.id)).toEqual(
      events.flatMap((each) => each.told),
    );
    expect(
      (await told(subscription.id, '?eventsSinceNumber=2')).map(
        ({ number }) => number,
      ),
    ).toEqual([2]);
    expect(
      (await told(subscription.id, '?eventsUntilNumber=1')).map(
        ({ number }) => number,
      ),
    ).toEqual([1]);
    expect((await drop(subscription.id)).statusCode).toBe(204);
    await door.deliverObservation(patientId);
    expect(await door.received()).toEqual([]);
    expect(
      (await door.call('GET', `Subscription/${subscription.id}`)).statusCode,
    ).toBe(404);
  });

  test('gets a full resource, or nothing but the number, as it asked', async () => {
    const full = await door.subscribe({ content: 'full-resource' });
    const empty = await door.subscribe({ content: 'empty' });
    await door.received();
    await door.deliverObservation(patientId, { code: '2345-7' });
    const bundles = await door.received();
    const [ofFull, ofEmpty] = [full, empty].map(({ id }) =>
      bundles.find((bundle) => statusIn(bundle).subscription?.endsWith(id)),
    );
    if (ofFull === undefined || ofEmpty === undefined)
      throw new Error('a notification is missing');
    const { focus } = statusIn(ofFull).told[0] ?? {};
    expect(ofFull.entry?.[1]).toMatchObject({
      fullUrl: expect.stringMatching(new RegExp(`/fhir/R4/${focus}$`)),
      resource: {
        resourceType: 'Observation',
        subject: { reference: `Patient/${patientId}` },
      },
      request: { method: 'POST', url: 'Observation' },
      response: { status: '201' },
    });
    expect(ofEmpty.entry).toHaveLength(1);
    expect(statusIn(ofEmpty)).toMatchObject({
      topic: undefined,
      told: [{ number: 1, focus: undefined, triggers: [] }],
    });
    expect(JSON.stringify(ofEmpty)).not.toContain(patientId);
    // The content of $events is at most that of the subscription.
    expect(
      (await told(empty.id, '?content=full-resource'))[0]?.focus,
    ).toBeUndefined();
    expect((await told(full.id, '?content=id-only'))[0]?.focus).toBe(focus);
    const other = await door.call('POST', `Subscription/${full.id}/$events`, {
      resourceType: 'Patient',
    });
    expect([other.statusCode, other.body]).toEqual([
      400,
      expect.stringContaining('must be Parameters'),
    ]);
  });

  test('is told of what passes its filters only, several changes in one notification', async () => {
    const other = await door.addPerson(1);
    const { id } = await door.subscribe({
      filters: [
        `Observation?patient=${patientId}&category=laboratory,vital-signs&code=http://loinc.org|8480-6`,
      ],
    });
    const few = await door.subscribe({
      filters: ['Observation?trigger=update', 'Condition?trigger=feed-event'],
    });
    await door.received();
    const observation = uuidv7();
    await door.deliverObservation(other);
    await door.deliverObservation(patientId, { category: 'survey' });
    await door.deliverObservation(patientId, { code: '2160-0' });
    await door.deliverObservation(patientId, {
      id: observation,
      category: 'vital-signs',
    });
    await door.deliverObservation(patientId, {
      id: observation,
      category: 'vital-signs',
      status: 'amended',
    });
    const events = (await door.received()).map((bundle) => statusIn(bundle));
    const of = (subscription: string) =>
      events.filter((each) => each.subscription?.endsWith(subscription));
    expect(
      of(id).flatMap((each) => each.told.map(({ triggers }) => triggers[1])),
    ).toEqual(['create', 'update']);
    expect(
      of(few.id).flatMap((each) =>
        each.told.map(({ triggers }) => triggers[1]),
      ),
    ).toEqual(['update']);
  });

  test('gets as many events in one notification as max-count permits, and one that goes', async () => {
    await door.subscribe({ extension: { 'max-count': 2 } });
    await door.received();
    const conditions = ['a', 'b', 'c'].map((code) =>
      delivery('hie', {
        resourceType: 'Condition',
        id: uuidv7(),
        code: { coding: [{ system: 'http://snomed.info/sct', code }] },
        subject: { reference: 'Patient/at-hie' },
      }),
    );
    await door.deliver(patientId, 'hie', conditions, ['at-hie']);
    await door.records.merge(door.accountId, patientId);
    const numbers = (await door.received()).map((bundle) =>
      statusIn(bundle).told.map(({ number }) => number),
    );
    expect(numbers.sort()).toEqual([[1, 2], [3]]);
    await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .deleteFrom('patient_resource')
        .where('source_id', '=', String(conditions[0]?.sourceId))
        .execute(),
    );
    await door.records.merge(door.accountId, patientId);
    const [gone] = (await door.received()).map((bundle) => statusIn(bundle));
    expect(gone?.told).toMatchObject([
      {
        number: 4,
        focus: expect.stringMatching(/^Condition\//),
        triggers: ['feed-event', 'delete'],
      },
    ]);
  });
});

describe('subscriptions to other topics', () => {
  test('encounters and completed queries are told with the Patient as focus, by their triggers', async () => {
    const admitted = await door.subscribe({
      topic: ENCOUNTERS,
      filters: [`Patient?trigger=A01`],
    });
    const queries = await door.subscribe({
      topic: QUERIES,
      content: 'full-resource',
      filters: [`Patient?patient=${patientId}&trigger=hie,lab&trigger=failed`],
    });
    await door.received();
    await announce('patient.admit');
    await announce('patient.discharge');
    await announce('network-query.hie', patientId, {
      source: { status: 'completed' },
    });
    await announce('network-query.hie', patientId, {
      source: { status: 'failed' },
    });
    const bundles = await door.received();
    const ofQueries = bundles.find((bundle) =>
      statusIn(bundle).subscription?.endsWith(queries.id),
    );
    expect(bundles).toHaveLength(2);
    expect(
      bundles.map((bundle) => statusIn(bundle).told).sort(byTriggers),
    ).toEqual([
      [{ number: 1, focus: `Patient/${patientId}`, triggers: ['A01'] }],
      [
        {
          number: 1,
          focus: `Patient/${patientId}`,
          triggers: ['hie', 'failed'],
        },
      ],
    ]);
    expect(ofQueries?.entry?.[1]?.resource).toMatchObject({
      resourceType: 'Patient',
      id: patientId,
    });
    expect(await told(admitted.id)).toEqual([
      { number: 1, focus: `Patient/${patientId}`, triggers: ['A01'] },
    ]);
  });

  test('each topic is named by the CapabilityStatement and described by a Basic resource', async () => {
    const statement = (await door.call('GET', 'metadata')).json();
    const rest = statement.rest[0].resource.find(
      ({ type }: { type: string }) => type === 'Subscription',
    );
    const topics = rest.extension.map(
      ({ valueCanonical }: { valueCanonical: string }) => valueCanonical,
    );
    expect(topics).toEqual([FEED, ENCOUNTERS, QUERIES]);
    expect(rest.supportedProfile).toEqual([
      'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription',
    ]);
    const { entry } = (await door.call('GET', 'Basic')).json();
    for (const [index, { resource }] of entry.entries()) {
      expect(JSON.stringify(resource)).toContain(topics[index]);
      expect((await door.call('GET', `Basic/${resource.id}`)).json()).toEqual(
        resource,
      );
    }
  });
});

describe('an endpoint that does not accept notifications', () => {
  test('gets nothing before it has accepted a handshake; the subscription is in error and recovers by itself', async () => {
    door.state.status = 500;
    const { id } = await door.subscribe();
    await door.deliverObservation(patientId);
    const before = (await door.received()).map(
      (bundle) => statusIn(bundle).type,
    );
    expect(new Set(before)).toEqual(new Set(['handshake']));
    expect(await statusOf(id)).toMatchObject({
      status: 'error',
      events: 1,
      error: expect.stringContaining('500'),
    });
    expect((await door.call('GET', `Subscription/${id}`)).json()).toMatchObject(
      {
        status: 'error',
        error: expect.stringContaining('500'),
      },
    );
    door.state.status = 200;
    await deliverDue(id);
    const after = (await door.received()).map((bundle) => statusIn(bundle));
    expect(after[0]?.type).toBe('handshake');
    expect(
      after.find(({ type }) => type === 'event-notification')?.told,
    ).toMatchObject([{ number: 1 }]);
    expect(await statusOf(id)).toMatchObject({
      status: 'active',
      error: undefined,
    });
  });

  test('is held while it fails, and gets what it missed in the end; $events has it meanwhile', async () => {
    const { id } = await door.subscribe();
    await door.received();
    door.state.status = 503;
    for (let index = 0; index < 6; index++)
      await door.deliverObservation(await door.addPerson(index));
    await door.received();
    const held = await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('webhook_destination')
        .select('held_since')
        .where('id', '=', id)
        .executeTakeFirst(),
    );
    expect(held?.held_since).not.toBeNull();
    const { troubledDestinations } = await readOperationsReport(door.store);
    expect(troubledDestinations).toContainEqual(
      expect.objectContaining({
        destinationId: id,
        state: 'failing',
        lastError: '503',
      }),
    );
    expect(await statusOf(id)).toMatchObject({ status: 'error', events: 6 });
    expect(
      (await told(id)).map(({ number, focus }) => [
        number,
        focus !== undefined,
      ]),
    ).toEqual([1, 2, 3, 4, 5, 6].map((number) => [number, true]));
    door.state.status = 200;
    await deliverDue(id);
    const numbers = (await door.received()).flatMap((bundle) =>
      statusIn(bundle).told.map(({ number }) => number),
    );
    expect(numbers.sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await statusOf(id)).toMatchObject({ status: 'active' });
  });

  test('that answers 410 switches the subscription off, until the client requests it again', async () => {
    const { id, channel } = await door.subscribe({
      channel: { header: ['Authorization: Bearer kept'] },
    });
    await door.received();
    door.state.status = 410;
    await door.deliverObservation(patientId);
    await door.received();
    expect(await statusOf(id)).toMatchObject({ status: 'off', events: 1 });
    await door.deliverObservation(patientId);
    expect(await statusOf(id)).toMatchObject({ status: 'off', events: 1 });
    // Nothing that an operator can repair.
    expect(
      (await readOperationsReport(door.store)).troubledDestinations,
    ).toEqual([]);
    door.state.status = 200;
    const body = { ...subscriptionTo(door.receiver.url), id, channel };
    const stale = await door.call('PUT', `Subscription/${id}`, body, {
      'x-api-key': await door.addKey(door.accountId, ['read', 'write']),
      'if-match': 'W/"v9"',
    });
    expect(stale.statusCode).toBe(412);
    const again = await door.call('PUT', `Subscription/${id}`, body);
    expect(again.json(), again.body).toMatchObject({
      status: 'requested',
      meta: { versionId: '2' },
    });
    await door.webhookDispatcher.drain();
    expect(door.receiver.received.at(-1)?.headers.authorization).toBe(
      'Bearer kept',
    );
    await door.received();
    await door.deliverObservation(patientId);
    expect(
      (await door.received()).flatMap((bundle) => statusIn(bundle).told),
    ).toMatchObject([{ number: 2 }]);
  });
});

test('heartbeats are sent at the period that was asked for, and are no events', async () => {
  const { id } = await door.subscribe({
    extension: { 'heartbeat-period': 60 },
  });
  const [heartbeats] = door.recoveries;
  if (heartbeats === undefined) throw new Error('no recovery');
  await takeUp(heartbeats);
  await door.received();
  await door.store.asAccount(door.accountId, (tx) =>
    tx.db
      .updateTable('fhir_subscription')
      .set({ heartbeat_at: new Date(Date.now() - 61_000) })
      .where('id', '=', id)
      .execute(),
  );
  await takeUp(heartbeats);
  await takeUp(heartbeats);
  expect(
    (await door.received()).map((bundle) => statusIn(bundle)),
  ).toMatchObject([
    { type: 'heartbeat', status: 'active', events: 0, told: [] },
  ]);
});

describe('what a subscription may see', () => {
  test('is decided by the scopes of the token when it is created', async () => {
    const reader = await door.client(['system/*.rs']);
    const refused = await door.call(
      'POST',
      'Subscription',
      subscriptionTo(door.receiver.url),
      reader.headers,
    );
    expect([refused.statusCode, diagnosticsIn(refused.json())]).toEqual([
      403,
      expect.stringContaining('system/Subscription.cruds'),
    ]);
    const some = await door.client([
      'system/Subscription.cruds',
      'system/Condition.rs',
    ]);
    const beyond = await door.call(
      'POST',
      'Subscription',
      subscriptionTo(door.receiver.url, {
        filters: ['Observation?trigger=create'],
      }),
      some.headers,
    );
    expect([beyond.statusCode, diagnosticsIn(beyond.json())]).toEqual([
      403,
      expect.stringContaining('system/Observation.rs'),
    ]);
    const { id } = await door.subscribe({}, some.headers);
    await door.received();
    await door.deliverObservation(patientId);
    expect(await door.received()).toEqual([]);
    expect(
      statusIn(
        (
          await door.call(
            'GET',
            `Subscription/${id}/$status`,
            undefined,
            some.headers,
          )
        ).json(),
      ).events,
    ).toBe(0);
    // Another client does not see it, nor does another account.
    for (const headers of [
      reader.headers,
      (await door.client(['system/Subscription.cruds', 'system/*.rs'])).headers,
    ])
      expect(
        (await door.call('GET', `Subscription/${id}`, undefined, headers))
          .statusCode,
      ).toBe(404);
    const readOnly = { 'x-api-key': door.apiKey };
    expect(
      (await door.call('DELETE', `Subscription/${id}`, undefined, readOnly))
        .statusCode,
    ).toBe(403);
  });

  test('ends with the client: a revoked one gets nothing more', async () => {
    const client = await door.client([
      'system/Subscription.cruds',
      'system/*.rs',
    ]);
    const { id } = await door.subscribe({}, client.headers);
    await door.received();
    await door.store.asSystem((tx) => revokeClient(tx, client.clientId));
    await door.deliverObservation(patientId);
    expect(await door.received()).toEqual([]);
    expect(await statusOf(id)).toMatchObject({
      status: 'off',
      error: 'The client that created the subscription was revoked',
    });
  });

  test('changes with the policy on sensitive data and with the deletion of a patient: the number remains, nothing else', async () => {
    const sensitive = await door.addPerson(2);
    const gone = await door.addPerson(3);
    const { id } = await door.subscribe({ content: 'full-resource' });
    const ofGone = await door.subscribe({
      filters: [`Observation?patient=${gone.toUpperCase()}`],
    });
    await door.received();
    door.state.status = 503;
    const security = [
      {
        system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
        code: 'PSY',
      },
    ];
    const observation = {
      resourceType: 'Observation',
      id: uuidv7(),
      meta: { security },
      status: 'final',
      code: { text: 'hidden' },
      subject: { reference: 'Patient/at-lab' },
    };
    await door.deliver(
      sensitive,
      'lab',
      [delivery('lab', observation)],
      ['at-lab'],
    );
    await door.records.merge(door.accountId, sensitive);
    await door.deliverObservation(gone);
    await door.deliverObservation(patientId);
    await door.received();
    expect((await told(id)).map(({ focus }) => focus !== undefined)).toEqual([
      true,
      true,
      true,
    ]);
    await withholdLabels(door.store, door.accountId, ['PSY']);
    await door.store.asAccount(door.accountId, (tx) =>
      deletePatient(tx, gone, () => undefined),
    );
    const filtering = (await door.call('GET', `Subscription/${ofGone.id}`))
      .body;
    expect(filtering.toLowerCase()).not.toContain(gone);
    expect(filtering).toContain(
      'Observation?patient=00000000-0000-0000-0000-000000000000',
    );
    const events = (
      await door.call('GET', `Subscription/${id}/$events`)
    ).json();
    expect(
      statusIn(events).told.map(({ number, focus }) => [
        number,
        focus !== undefined,
      ]),
    ).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(JSON.stringify(events)).not.toMatch(
      new RegExp(`hidden|${gone}|${sensitive}`),
    );
    door.state.status = 200;
    await deliverDue(id);
    const sent = await door.received();
    expect(JSON.stringify(sent)).not.toMatch(
      new RegExp(`hidden|${gone}|${sensitive}`),
    );
    expect(
      sent
        .flatMap((bundle) => statusIn(bundle).told)
        .map(({ number, focus }) => [number, focus !== undefined]),
    ).toEqual([
      [1, false],
      [3, true],
    ]);
    // What is withheld already is no event.
    const hidden = { ...observation, id: uuidv7() };
    await door.deliver(sensitive, 'lab', [delivery('lab', hidden)], ['at-lab']);
    await door.records.merge(door.accountId, sensitive);
    expect(await statusOf(id)).toMatchObject({ events: 3 });
    await withholdLabels(door.store, door.accountId, []);
    const audited = await door.store.asSystem((tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['operation', 'patient_id'])
        .where('target_id', '=', id)
        .execute(),
    );
    expect(audited).toEqual(
      expect.arrayContaining([
        { operation: 'fhirNotification', patient_id: patientId },
      ]),
    );
  });

  test('is the account alone: another one is told nothing, and cannot read, change or list', async () => {
    const other = uuidv7();
    await door.store.asSystem((tx) =>
      insertAccount(tx, { id: other, name: 'Other', settings: {} }),
    );
    const headers = {
      'x-api-key': await door.addKey(other, ['read', 'write']),
    };
    const { id } = await door.subscribe();
    const theirs = await door.subscribe({}, headers);
    await door.received();
    await door.deliverObservation(patientId);
    expect(
      (await door.received()).map((bundle) => statusIn(bundle).subscription),
    ).toEqual([expect.stringContaining(id)]);
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/$status'],
      ['GET', '/$events'],
    ] as const) {
      const body =
        method === 'PUT' ? subscriptionTo(door.receiver.url) : undefined;
      expect(
        (await door.call(method, `Subscription/${id}${path}`, body, headers))
          .statusCode,
      ).toBe(404);
    }
    const foreignPatient = await door.call(
      'POST',
      'Subscription',
      subscriptionTo(door.receiver.url, {
        filters: [`Observation?patient=${patientId}`],
      }),
      headers,
    );
    expect(diagnosticsIn(foreignPatient.json())).toContain(
      'names a Patient that does not exist here',
    );
    const search = (
      await door.call('GET', 'Subscription', undefined, headers)
    ).json();
    expect(search).toMatchObject({
      total: 1,
      entry: [{ resource: { id: theirs.id } }],
    });
  });
});

describe('subscriptions are listed', () => {
  test('by url, status and criteria, and their status for several ids', async () => {
    const first = await door.subscribe();
    const second = await door.subscribe({ topic: QUERIES });
    const idsOf = async (query: string) =>
      (
        (await door.call('GET', `Subscription?${query}`)).json().entry ?? []
      ).map(({ resource }: { resource: { id: string } }) => resource.id);
    expect(
      await idsOf(`url=${encodeURIComponent(door.receiver.url)}&status=active`),
    ).toEqual([first.id, second.id]);
    expect(await idsOf(`criteria=${encodeURIComponent(QUERIES)}`)).toEqual([
      second.id,
    ]);
    expect(await idsOf('status=off')).toEqual([]);
    const { entry } = (
      await door.call(
        'GET',
        `Subscription/$status?id=${first.id}&id=${second.id}&status=error&status=active`,
      )
    ).json();
    expect(entry).toHaveLength(2);
    const searched = await door.call(
      'POST',
      'Subscription/_search?status=active',
      {
        resourceType: 'Parameters',
      },
    );
    expect(searched.json()).toMatchObject({ total: 2 });
    const modified = await door.call('GET', 'Subscription?status:not=active');
    expect([modified.statusCode, diagnosticsIn(modified.json())]).toEqual([
      400,
      expect.stringContaining('modifier'),
    ]);
    const unknown = await door.call('GET', 'Subscription?toString=x');
    expect(unknown.body).toContain(
      'The parameter toString is not supported and was ignored',
    );
    const posted = await door.call('POST', 'Subscription/$status', {
      resourceType: 'Parameters',
      parameter: [{ name: 'id', valueId: second.id }],
    });
    expect(statusIn(posted.json()).subscription).toContain(second.id);
  });
});

describe('a Subscription that cannot be honoured is refused with the reason', () => {
  const url = 'https://receiver.example.org/hook';
  const custom = {
    extension: [
      {
        url: `${GUIDE}backport-channel-type`,
        valueCoding: { code: 'zulip' },
      },
    ],
  };
  test.each([
    [
      'an unknown topic',
      subscriptionTo(url, { topic: 'http://example.org/topic' }),
      'is no topic of this server',
    ],
    [
      'an unknown filter',
      subscriptionTo(url, { filters: ['Observation?value-quantity=5'] }),
      'value-quantity is no filter for Observation',
    ],
    [
      'a modifier',
      subscriptionTo(url, { filters: ['Observation?code:in=x'] }),
      'code:in is no filter',
    ],
    [
      'a filter of another type',
      subscriptionTo(url, {
        topic: QUERIES,
        filters: ['Observation?patient=x'],
      }),
      'the topic has Patient only',
    ],
    [
      'a filter without a type',
      subscriptionTo(url, { filters: ['category=laboratory'] }),
      'must begin with a type',
    ],
    [
      'a trigger that the topic has not',
      subscriptionTo(url, { filters: ['Observation?trigger=A01'] }),
      'it has: feed-event, create, update, delete',
    ],
    [
      'a malformed patient',
      subscriptionTo(url, { filters: ['Observation?patient=1'] }),
      'is not the id of a Patient',
    ],
    [
      'a channel',
      subscriptionTo(url, { channel: { type: 'websocket' } }),
      'expected "rest-hook"',
    ],
    [
      'a custom channel',
      subscriptionTo(url, { channel: { _type: custom } }),
      '_type',
    ],
    [
      'a payload',
      subscriptionTo(url, { channel: { payload: 'application/fhir+xml' } }),
      'application/fhir+json',
    ],
    [
      'another version of FHIR',
      subscriptionTo(url, {
        channel: { payload: 'application/fhir+json; fhirVersion=5.0' },
      }),
      'fhirVersion=4.0',
    ],
    [
      'a content',
      subscriptionTo(url, { content: 'some' }),
      '"empty"|"id-only"|"full-resource"',
    ],
    [
      'no content',
      subscriptionTo(url, { channel: { _payload: undefined } }),
      '_payload is required',
    ],
    [
      'plain http',
      subscriptionTo('http://receiver.example.org/hook'),
      'must be an https URL',
    ],
    [
      'a private address',
      subscriptionTo('https://10.0.0.1/hook'),
      'must not be an address in a private network',
    ],
    [
      'an end in the past',
      subscriptionTo(url, { end: '2020-12-31T12:00:00Z' }),
      'is in the past',
    ],
    [
      'a header of ours',
      subscriptionTo(url, {
        channel: { header: ['Content-Type: text/plain'] },
      }),
      'is set by this server',
    ],
    [
      'a malformed header',
      subscriptionTo(url, { channel: { header: ['Bearer x\r\nX: y'] } }),
      'must match pattern',
    ],
    [
      'a hidden header',
      subscriptionTo(url, { channel: { header: ['Authorization: ********'] } }),
      'has no value yet',
    ],
    [
      'a heartbeat too often',
      subscriptionTo(url, { extension: { 'heartbeat-period': 5 } }),
      'at least 60 seconds',
    ],
    [
      'an extension of R5',
      subscriptionTo(url, {
        extension: undefined,
        channel: {
          extension: [
            {
              url: 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Subscription.maxCount',
              valuePositiveInt: 5,
            },
          ],
        },
      }),
      'expected one of',
    ],
    [
      'the shape of R5',
      {
        resourceType: 'Subscription',
        status: 'requested',
        topic: FEED,
        channelType: { code: 'rest-hook' },
        endpoint: url,
      },
      'topic, channelType, endpoint: is of R5',
    ],
    ['another resource', { resourceType: 'Patient' }, 'Subscription'],
    [
      'half of a surrogate pair',
      subscriptionTo(url, { reason: 'a\ud800' }),
      'half of a surrogate pair',
    ],
    [
      'a period given twice',
      subscriptionTo(url, {
        channel: {
          extension: [60, 90].map((valueUnsignedInt) => ({
            url: `${GUIDE}backport-heartbeat-period`,
            valueUnsignedInt,
          })),
        },
      }),
      'heartbeat-period needs one number of its type',
    ],
    [
      'a period of another type',
      subscriptionTo(url, {
        channel: {
          extension: [
            { url: `${GUIDE}backport-heartbeat-period`, valuePositiveInt: 60 },
          ],
        },
      }),
      'heartbeat-period needs one number of its type',
    ],
  ])('%s', async (_what, body, message) => {
    const response = await door.call('POST', 'Subscription', body);
    expect(response.statusCode, response.body).toBe(400);
    expect(diagnosticsIn(response.json())).toContain(message);
  });

  test('a header that is not shown is sent to the endpoint that it was given for, and to no other', async () => {
    const header = ['Authorization: Bearer its-secret'];
    const { id } = await door.subscribe({ channel: { header } });
    const hidden = { channel: { header: ['Authorization: ********'] } };
    const put = async (
      to: string,
      of: Parameters<typeof subscriptionTo>[1] = hidden,
    ) =>
      (await door.call('PUT', `Subscription/${id}`, subscriptionTo(to, of)))
        .statusCode;
    expect(await put(`${door.receiver.url}/other-path`)).toBe(200);
    expect(await put('https://elsewhere.example.org/hook')).toBe(400);
    expect(
      await put('https://elsewhere.example.org/hook', { channel: { header } }),
    ).toBe(200);
  });

  test('a PUT whose body has the id of another one', async () => {
    const { id } = await door.subscribe();
    const put = async (of: Parameters<typeof subscriptionTo>[1]) =>
      (
        await door.call(
          'PUT',
          `Subscription/${id}`,
          subscriptionTo(door.receiver.url, of),
        )
      ).statusCode;
    expect(await put({ id: uuidv7() })).toBe(400);
    expect(await put({ id: id.toUpperCase() })).toBe(200);
  });

  test('filters of more codes in all than an account may have, and of many parameters', async () => {
    const { id } = await door.subscribe({
      filters: ['Observation?code=1,2&category=laboratory'],
    });
    // As many as only many subscriptions have.
    await door.store.asAccount(door.accountId, (tx) =>
      sql`update subscription_filter set codes = codes + 149995 where subscription_id = ${id}`.execute(
        tx.db,
      ),
    );
    const more = (filter: string) =>
      door.call(
        'POST',
        'Subscription',
        subscriptionTo(door.receiver.url, { filters: [filter] }),
      );
    const refused = await more('Observation?code=1,2,3');
    expect([refused.statusCode, diagnosticsIn(refused.json())]).toEqual([
      409,
      expect.stringContaining('at most 150000 codes together'),
    ]);
    const same = await more(`Observation?code=${'7,'.repeat(300)}7`);
    expect(same.statusCode).toBe(201);
    const broad = await more(`Observation?${'code=7&'.repeat(21)}`);
    expect([broad.statusCode, diagnosticsIn(broad.json())]).toEqual([
      400,
      expect.stringContaining('more than 20 parameters'),
    ]);
    await drop(id);
  });

  test('a body that is no JSON, an odd number, and one subscription too many', async () => {
    const response = await door.gateway.app.inject({
      method: 'POST',
      url: '/fhir/R4/Subscription',
      headers: {
        'x-api-key': await door.addKey(door.accountId, ['read', 'write']),
        'content-type': 'application/fhir+json',
      },
      payload: '{"resourceType":',
    });
    expect([response.statusCode, response.json().resourceType]).toEqual([
      400,
      'OperationOutcome',
    ]);
    const many = [await door.subscribe()];
    const odd = await door.call(
      'GET',
      `Subscription/${many[0]?.id}/$events?eventsSinceNumber=first`,
    );
    expect([odd.statusCode, diagnosticsIn(odd.json())]).toEqual([
      400,
      'eventsSinceNumber: is not the number of an event',
    ]);
    for (let left = 49; left > 0; left--) many.push(await door.subscribe());
    const refused = await door.call(
      'POST',
      'Subscription',
      subscriptionTo(door.receiver.url),
    );
    expect([refused.statusCode, diagnosticsIn(refused.json())]).toEqual([
      409,
      expect.stringContaining('maximum of 50'),
    ]);
  });
});
