import { rm } from 'node:fs/promises';
import type { Bundle, FhirResource } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import {
  createSubscriptionDoor,
  ENCOUNTERS,
  type SubscriptionDoor,
} from '../support/subscriptions.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { validate, validatorMissing } from './hapi-validator.ts';

const missing = validatorMissing();
let door: SubscriptionDoor;
let folder: string;
const bundles = new Map<string, Bundle>();

const collection = (resource: FhirResource): Bundle => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: [
    {
      fullUrl: `https://exchange.example.org/fhir/R4/${resource.resourceType}/${resource.id}`,
      resource,
    },
  ],
});

beforeAll(async () => {
  if (missing !== undefined) return;
  folder = await makeTestFolder();
  door = await createSubscriptionDoor();
  const patientId = await door.addPerson();
  for (const content of ['empty', 'id-only', 'full-resource']) {
    const extension = { 'heartbeat-period': 60, timeout: 10, 'max-count': 5 };
    const channel = { header: ['Authorization: Bearer secret'] };
    const filters = [`Observation?patient=${patientId}&category=laboratory`];
    const { id } = await door.subscribe({
      content,
      extension,
      channel,
      filters,
      end: '2100-01-01T00:00:00Z',
    });
    bundles.set(
      `${content}.subscription`,
      collection((await door.call('GET', `Subscription/${id}`)).json()),
    );
  }
  await door.subscribe({ topic: ENCOUNTERS, content: 'full-resource' });
  await door.deliverObservation(patientId);
  await door.store.asAccount(door.accountId, (tx) =>
    insertEvent(tx, {
      type: 'patient.admit',
      factKey: 'a',
      patientId,
      occurredAt: new Date(),
      body: { meta: { type: 'patient.admit' }, payload: {} },
    }),
  );
  for (const [index, bundle] of (await door.received()).entries())
    bundles.set(`notification.${index}`, bundle);
  const search: Bundle = (await door.call('GET', 'Subscription')).json();
  bundles.set('search', search);
  bundles.set(
    'status',
    (await door.call('GET', 'Subscription/$status')).json(),
  );
  for (const { resource } of search.entry ?? [])
    bundles.set(
      `events.${resource?.id}`,
      (await door.call('GET', `Subscription/${resource?.id}/$events`)).json(),
    );
  bundles.set('topics', (await door.call('GET', 'Basic')).json());
  bundles.set(
    'metadata',
    collection({
      ...(await door.call('GET', 'metadata')).json(),
      id: 'metadata',
    }),
  );
});
afterAll(async () => {
  await door?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/**
 * The guide is on no registry, so that its profiles and extensions are unknown
 * here; US Core is known in one version.
 */
const isUnknown = (message: string): boolean =>
  /subscriptions-backport|hl7\.org\/fhir\/5\.0\/|us\/core\/.*\|6\.1\.0/.test(
    message,
  );

describe.skipIf(missing !== undefined)(
  "HAPI's validator on subscriptions",
  () => {
    test('finds no error in any notification, status, Subscription or topic: FHIR R4', async () => {
      const issues = await validate(folder, 'us-core-8.0.0', bundles);
      const errors = issues.filter(
        ({ severity, message }) =>
          (severity === 'error' || severity === 'fatal') && !isUnknown(message),
      );
      process.stdout.write(
        `${bundles.size} Bundles, ${issues.length} issues, ${errors.length} errors\n`,
      );
      expect(
        errors.map(({ bundle, resource, element, message }) => ({
          bundle,
          resource,
          element,
          message,
        })),
      ).toEqual([]);
    });
  },
);
