import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { acceptedMessages } from '../../src/exchange/messaging/notifications/held-messages.ts';
import {
  createRecordings,
  type Recordings,
} from '../../src/exchange/messaging/notifications/recording/recordings.ts';
import { messageRematching } from '../../src/exchange/messaging/notifications/rematch/rematching.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { createTestGateway, newPerson, type TestAccount } from './gateway.ts';
import { TEST_ID_HMAC_KEY } from './test-keys.ts';

export type Person = ReturnType<typeof newPerson>;

/**
 * A gateway with one sender, `mercy`, and an account whose patients may be
 * monitored. What is reported is recorded at once.
 */
export async function createSenderEnvironment() {
  const secret = 'secret-of-mercy-hospital';
  let recordings: Recordings | undefined;
  let isRecording = true;
  const gateway = await createTestGateway({
    notificationSenders: [{ name: 'mercy', secret, timeZone: 'UTC' }],
    recordings: {
      launch: (recording) => isRecording && recordings?.launch(recording),
    },
  });
  const { store, blobs } = gateway;
  const logger = pino({ level: 'silent' });
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const startGuard = createStartGuard(store);
  const own = createRecordings({
    store,
    blobs,
    records,
    arrivals: { tell: () => undefined },
    startGuard,
    idHmacKey: TEST_ID_HMAC_KEY,
    logger,
  });
  recordings = own;
  const rematching = messageRematching({
    store,
    blobs,
    idHmacKey: TEST_ID_HMAC_KEY,
    recordings: own,
    followUps: { launch: () => undefined, wake: () => undefined },
  });
  const accepted = acceptedMessages({
    store,
    blobs,
    idHmacKey: TEST_ID_HMAC_KEY,
    recordings: own,
    followUps: { launch: () => undefined, wake: () => undefined },
  });
  const account = await gateway.addAccount();
  let count = 0;

  const post = (format: 'hl7v2' | 'fhir', body: string) =>
    gateway.app.inject({
      method: 'POST',
      url: `/notifications/${format}/mercy`,
      headers: {
        'content-type':
          format === 'fhir' ? 'application/fhir+json' : 'application/hl7-v2',
        authorization: `Bearer ${secret}`,
      },
      payload: body,
    });

  return {
    gateway,
    account,
    recordings: own,
    rematching,
    accepted,
    post,
    /** Sends HL7 v2 messages, and waits until what they report is recorded. */
    async send(...messages: string[]): Promise<void> {
      for (const message of messages)
        expect((await post('hl7v2', message)).body).toContain('\rMSA|AA|');
      await own.drain();
    },
    /** Sends these resources as a FHIR Bundle with a new id. */
    async sendFhir(...resources: object[]): Promise<void> {
      count += 1;
      const entry = resources.map((resource) => ({ resource }));
      const bundle = {
        resourceType: 'Bundle',
        id: `b-${count}`,
        type: 'collection',
        entry,
      };
      const answer = await post('fhir', JSON.stringify(bundle));
      expect(answer.statusCode, answer.body).toBe(200);
      await own.drain();
    },
    /** A patient in a cohort that wants every kind of notification. */
    async addPatient(
      person: Person = newPerson(),
      of: TestAccount = account,
    ): Promise<string> {
      count += 1;
      const on = { notifications: true };
      const settings = {
        monitoring: { adt: { enabled: true }, pharmacy: on, laboratory: on },
      };
      const cohort = await of.call('POST', 'cohort', {
        name: `Cohort ${count}`,
        settings,
      });
      const body = { ...person, cohorts: [cohort.json().id] };
      const answer = await of.call(
        'POST',
        `patient?facilityId=${of.facilityId}`,
        body,
      );
      expect(answer.statusCode, answer.body).toBe(201);
      return answer.json().id;
    },
    /** As if the process died after the commit. */
    stopRecording() {
      isRecording = false;
    },
    startRecording() {
      isRecording = true;
    },
    /** As if time had passed since the messages arrived. */
    age: () =>
      store.asSystem((tx) =>
        sql`update recorded_subject set changed_at = now() - interval '1 minute'`.execute(
          tx.db,
        ),
      ),
    /** Delivers a resource as an answer of the lab network does. */
    deliver: (patientId: string, resource: object) =>
      store.asAccount(account.accountId, async (tx) => {
        const { resourceType, id } = resource as {
          resourceType: string;
          id: string;
        };
        const documentId = uuidv7();
        const file = {
          fileName: `lab-${documentId}.json`,
          contentType: 'application/fhir+json',
          sizeBytes: 1,
        };
        await insertDocuments(tx, [
          {
            id: documentId,
            patientId,
            queryId: uuidv7(),
            source: 'lab',
            kind: 'page',
            ...file,
            sha256: Buffer.alloc(32),
            blobRef: 'page/none',
          },
        ]);
        await insertSourcePatientIds(tx, patientId, 'lab', ['net']);
        const sha256 = createHash('sha256')
          .update(JSON.stringify(resource))
          .digest('hex');
        await upsertResources(tx, { patientId, source: 'lab', documentId }, [
          {
            resourceType,
            sourceId: id,
            sha256,
            json: JSON.stringify(resource),
            revision: '',
          },
        ]);
      }),
    /** What the FHIR API has of one type for the patient. */
    async resources(
      type: string,
      patientId: string,
      of: TestAccount = account,
      // biome-ignore lint/suspicious/noExplicitAny: resources of several types
    ): Promise<any[]> {
      const answer = await of.call(
        'GET',
        `/fhir/R4/${type}?patient=${patientId}`,
      );
      expect(answer.statusCode, answer.body).toBe(200);
      const all = (answer.json().entry ?? []).map(
        ({ resource }: { resource: { resourceType: string } }) => resource,
      );
      return all.filter(
        (resource: { resourceType: string }) => resource.resourceType === type,
      );
    },
  };
}

/** The person as a sender's FHIR Patient. */
export const senderPatient = (person: Person, id = 'sender-patient') => ({
  resourceType: 'Patient',
  id,
  identifier: [
    {
      system: 'urn:mercy',
      value: `record-of-${createHash('sha1').update(person.lastName).digest('hex')}`,
    },
  ],
  name: [{ family: person.lastName, given: [person.firstName] }],
  birthDate: person.dob,
  gender: 'female',
  address: [
    {
      line: [person.address[0]?.addressLine1],
      postalCode: person.address[0]?.zip,
    },
  ],
});

/** One segment, its fields by number. */
export const hl7Segment = (
  name: string,
  fields: Record<number, string>,
): string =>
  [name, ...Array.from({ length: 50 }, (_, index) => fields[index + 1] ?? '')]
    .join('|')
    .replace(/\|+$/, '');

/** A PID segment. The record number is derived from the person unless given. */
export const pidOf = (
  person: Person,
  record = `R-${person.lastName}`,
): string =>
  hl7Segment('PID', {
    3: `${record}^^^MERCY^MR`,
    5: `${person.lastName}^${person.firstName}`,
    7: person.dob.replaceAll('-', ''),
    8: person.genderAtBirth,
    11: `${person.address[0]?.addressLine1}^^${person.address[0]?.city}^${person.address[0]?.state}^${person.address[0]?.zip}`,
  });

let control = 0;
/** An MSH segment with a control id of its own, sent on 20 November 2026. */
export const mshOf = (type: string, hour: string): string =>
  `MSH|^~\\&|FEED|MERCY|HUB|X|20261120${hour.padEnd(6, '0')}+0000||${type}|control-${++control}|P|2.5.1`;

export function adtMessage(
  person: Person,
  of: {
    event: string;
    hour: string;
    visit?: string;
    prior?: string;
    pv1?: Record<number, string>;
  },
): string {
  return [
    mshOf(`ADT^${of.event}`, of.hour),
    `EVN||20261120${of.hour}00+0000`,
    pidOf(person),
    of.prior === undefined
      ? hl7Segment('PV1', { 2: 'I', 3: 'W1^1', 19: of.visit ?? '', ...of.pv1 })
      : `MRG|${of.prior}^^^MERCY^MR`,
  ].join('\r');
}
