import type { Client } from '@temporalio/client';
import type { Bundle, Parameters, Subscription } from 'fhir/r4.js';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { signAccessToken } from '../../src/exchange/access/fhir-clients/access-token.ts';
import { insertClient } from '../../src/exchange/access/fhir-clients/client-store.ts';
import { subscriptionsFeature } from '../../src/exchange/delivery/subscriptions/feature.ts';
import { delivery, samples } from './deliveries.ts';
import { createDeliveries, startReceiver } from './events-environment.ts';
import { createFhirDoor } from './fhir-door.ts';
import { TEST_INTERNAL_KEY } from './gateway.ts';

export const GUIDE =
  'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/';
export const FEED =
  'http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed';
export const ENCOUNTERS = 'urn:medical-exchange:topic:encounter-notifications';
export const QUERIES = 'urn:medical-exchange:topic:query-completed';

interface Asked {
  topic?: string;
  filters?: string[];
  content?: string;
  channel?: Record<string, unknown>;
  extension?: Record<string, number>;
  [element: string]: unknown;
}

/** A Subscription as a client sends it. */
export const subscriptionTo = (
  endpoint: string,
  {
    topic = FEED,
    filters = [],
    content = 'id-only',
    channel,
    extension = {},
    ...others
  }: Asked = {},
) => ({
  resourceType: 'Subscription',
  status: 'requested',
  reason: 'Test',
  criteria: topic,
  ...(filters.length > 0 && {
    _criteria: {
      extension: filters.map((valueString) => ({
        url: `${GUIDE}backport-filter-criteria`,
        valueString,
      })),
    },
  }),
  ...others,
  channel: {
    ...(Object.keys(extension).length > 0 && {
      extension: Object.entries(extension).map(([name, value]) => ({
        url: `${GUIDE}backport-${name}`,
        [name === 'max-count' ? 'valuePositiveInt' : 'valueUnsignedInt']: value,
      })),
    }),
    type: 'rest-hook',
    endpoint,
    payload: 'application/fhir+json',
    _payload: {
      extension: [
        { url: `${GUIDE}backport-payload-content`, valueCode: content },
      ],
    },
    ...channel,
  },
});

/** The parameters of a status by name; those of its events as `events`. */
export function statusIn(bundle: Bundle, entry = 0) {
  const { parameter = [] } = (bundle.entry?.[entry]?.resource ??
    {}) as Parameters;
  const paramOf = (name: string) => {
    const { name: _, ...value } = parameter.find(
      (each) => each.name === name,
    ) ?? { name };
    return Object.values(value)[0] as unknown;
  };
  return {
    subscription: (paramOf('subscription') as { reference: string } | undefined)
      ?.reference,
    topic: paramOf('topic'),
    status: paramOf('status'),
    type: paramOf('type'),
    events: Number(paramOf('events-since-subscription-start')),
    error: (paramOf('error') as { text: string } | undefined)?.text,
    told: parameter
      .filter(({ name }) => name === 'notification-event')
      .map(({ part = [] }) => ({
        number: Number(
          part.find(({ name }) => name === 'event-number')?.valueString,
        ),
        focus: part
          .find(({ name }) => name === 'focus')
          ?.valueReference?.reference?.replace(/^.*\/fhir\/R4\//, ''),
        triggers: part.flatMap(({ name, valueCoding }) =>
          name === 'trigger' ? [valueCoding?.code] : [],
        ),
      })),
  };
}

/** A gateway with records, and what brings notifications to a receiver. */
export async function createSubscriptionDoor() {
  const door = await createFhirDoor({ allowLoopbackWebhooks: true });
  const { store, accountId } = door;
  const state = { status: 200 };
  const receiver = await startReceiver((_, response) =>
    response.writeHead(state.status).end(),
  );
  const { webhookDispatcher, delivery: deliveries } = createDeliveries(
    store,
    undefined as unknown as Client,
  );
  store.onEventsCommitted((account, ids) =>
    webhookDispatcher.send(account, ids),
  );
  const { drain: changesTold, recoveries } = subscriptionsFeature.open({
    store,
    logger: pino({ level: 'silent' }),
  });
  const key = await door.addKey(accountId, ['read', 'write']);

  const call = (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
    headers: Record<string, string> = { 'x-api-key': key },
  ) =>
    door.gateway.app.inject({
      method,
      url: `/fhir/R4/${path}`,
      headers: {
        ...headers,
        ...(body && { 'content-type': 'application/fhir+json' }),
      },
      ...(body && { payload: JSON.stringify(body) }),
    });

  return {
    ...door,
    state,
    receiver,
    webhookDispatcher,
    deliveries,
    /** Resolves when subscriptions were told of all committed changes. */
    changesTold,
    recoveries,
    call,
    /** The notifications that the receiver got, since the last time. */
    async received(): Promise<Bundle[]> {
      await changesTold();
      await webhookDispatcher.drain();
      return receiver.received
        .splice(0)
        .map(({ raw }) => JSON.parse(raw) as Bundle);
    },
    async subscribe(
      asked: Asked = {},
      headers?: Record<string, string>,
    ): Promise<Subscription & { id: string }> {
      const response = await call(
        'POST',
        'Subscription',
        subscriptionTo(receiver.url, asked),
        headers,
      );
      if (response.statusCode !== 201)
        throw new Error(`${response.statusCode} ${response.body}`);
      await webhookDispatcher.drain();
      return response.json();
    },
    /** The headers of a client with a token of these scopes. */
    async client(scopes: string[], account = accountId) {
      const clientId = uuidv7();
      await store.asSystem((tx) =>
        insertClient(tx, {
          id: clientId,
          accountId: account,
          keys: { jwks: { keys: [] } },
          scopes,
        }),
      );
      const token = await signAccessToken(TEST_INTERNAL_KEY, {
        clientId,
        accountId: account,
        scopes,
      });
      return { clientId, headers: { authorization: `Bearer ${token}` } };
    },
    /** Delivers an Observation for a patient, and merges it. */
    async deliverObservation(
      patientId: string,
      {
        id = uuidv7(),
        code = '8480-6',
        category = 'laboratory',
        ...others
      }: Record<string, string> = {},
    ): Promise<void> {
      const system =
        'http://terminology.hl7.org/CodeSystem/observation-category';
      const observation = {
        resourceType: 'Observation',
        id,
        status: 'final',
        category: [{ coding: [{ system, code: category }] }],
        code: { coding: [{ system: 'http://loinc.org', code }] },
        subject: { reference: 'Patient/at-lab' },
        effectiveDateTime: '2026-05-01T08:00:00Z',
        valueQuantity: { value: 120, unit: 'mmHg' },
        ...others,
      };
      await door.deliver(
        patientId,
        'lab',
        [delivery('lab', observation)],
        ['at-lab'],
      );
      await door.records.merge(accountId, patientId);
    },
    async addPerson(index = 0): Promise<string> {
      const { createBody } = samples[index] ??
        samples[0] ?? { createBody: undefined };
      if (createBody === undefined) throw new Error('there is no sample');
      return door.addPatient({
        firstNames: [createBody.firstName],
        lastNames: [createBody.lastName],
        dob: createBody.dob,
        gender: createBody.genderAtBirth,
        addresses: createBody.address,
        contacts: createBody.contact,
        personalIdentifiers: [],
        externalId: uuidv7(),
      });
    },
    async close() {
      await changesTold();
      await webhookDispatcher.drain();
      await receiver.close();
      await door.close();
    },
  };
}

export type SubscriptionDoor = Awaited<
  ReturnType<typeof createSubscriptionDoor>
>;
