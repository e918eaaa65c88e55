import type { Binary, Bundle, DocumentReference } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resourceFilter } from '../../src/exchange/delivery/bulk-export/rules/export-request.ts';
import { readExportOfPatient } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  FHIR_BASE,
  type FhirDoor,
  resourcesIn,
} from '../support/fhir-door.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = personOf(sample);
const LETTER = Buffer.from(
  [...Array(100_001).keys()].map((each) => each % 251),
);

let door: FhirDoor;
let patientId: string;
let documentId: string;
beforeAll(async () => {
  door = await createFhirDoor();
  patientId = await door.addPatient(person);
  await deliver('held', 'not-held');
  documentId = await door.deliverDocument(patientId, 'hie', {
    bytes: LETTER,
    contentType: 'application/pdf',
    sourceDocumentId: 'held',
  });
});
afterAll(() => door.close());

const deliver = (...references: (string | { id: string; status: string })[]) =>
  door.deliver(
    patientId,
    'hie',
    references.map((reference) => {
      const { id, status } =
        typeof reference === 'string'
          ? { id: reference, status: 'current' }
          : reference;
      return delivery('hie', {
        resourceType: 'DocumentReference',
        id,
        status,
        description: id,
        subject: { reference: 'Patient/p' },
        content: [
          {
            attachment: {
              contentType: 'application/pdf',
              url: `https://hospital.example.org/${id}`,
            },
          },
        ],
      });
    }),
    ['p'],
  );
const address = () => `${FHIR_BASE}/Binary/${documentId}`;
const attachmentsIn = (resources: readonly unknown[]) =>
  Object.fromEntries(
    (resources as DocumentReference[])
      .filter(({ resourceType }) => resourceType === 'DocumentReference')
      .map(({ description, content }) => [description, content[0]?.attachment]),
  );
const expectOurs = (resources: readonly unknown[]) => {
  expect(JSON.stringify(resources)).not.toContain('hospital.example.org');
  expect(attachmentsIn(resources)).toMatchObject({
    held: { url: address() },
    'not-held': { _url: { extension: [{ valueCode: 'unknown' }] } },
  });
};

describe('the address of a document', () => {
  test('leads to our copy in searches, reads and $everything', async () => {
    const found = await door.bundle(`DocumentReference?patient=${patientId}`);
    expectOurs(resourcesIn(found));
    const read = await Promise.all(
      resourcesIn(found).map(async ({ id }) =>
        (await door.get(`DocumentReference/${id}`)).json(),
      ),
    );
    expectOurs(read);
    expectOurs(
      resourcesIn(await door.bundle(`Patient/${patientId}/$everything`)),
    );
  });

  test('leads to our copy in the consolidated Bundle and in exports', async () => {
    const bundle: Bundle = (
      await door.get(
        `${TEST_BASE_URL}/medical/v1/patient/${patientId}/consolidated`,
      )
    ).json();
    expectOurs(resourcesIn(bundle));
    const lines: unknown[] = [];
    const of = {
      member: { patientId, ordinal: 1, isWhole: true },
      filter: resourceFilter(null, {}),
    };
    const pages = readExportOfPatient(
      { ...door, publicBaseUrl: TEST_BASE_URL },
      { accountId: door.accountId, since: null, ...of },
      undefined,
    );
    for await (const page of pages)
      lines.push(...page.lines.map(({ json }) => json));
    expectOurs(lines);
  });

  test('gives the document as it was delivered, or as a Binary to a client that asks for FHIR', async () => {
    const response = await door.get(address(), { accept: 'application/pdf' });
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('application/pdf');
    expect(response.rawPayload.equals(LETTER)).toBe(true);
    const binary: Binary = (
      await door.get(address(), { accept: 'application/fhir+json' })
    ).json();
    expect(binary).toMatchObject({
      resourceType: 'Binary',
      id: documentId,
      contentType: 'application/pdf',
    });
    expect(Buffer.from(String(binary.data), 'base64').equals(LETTER)).toBe(
      true,
    );
  });

  test('of another type of resource leads to our copy too', async () => {
    const own = { subject: { reference: 'Patient/p' } };
    const form = {
      contentType: 'application/pdf',
      url: 'https://hospital.example.org/form',
    };
    await door.deliver(
      patientId,
      'hie',
      [
        {
          ...own,
          resourceType: 'DiagnosticReport',
          status: 'final',
          code: { text: 'Biopsy' },
          presentedForm: [form],
        },
        {
          ...own,
          resourceType: 'Communication',
          status: 'completed',
          payload: [{ contentAttachment: form }],
        },
      ].map((resource) => delivery('hie', { ...resource, id: 'own' })),
      ['p'],
    );
    const ids = await Promise.all(
      ['DiagnosticReport', 'Communication'].map((type) =>
        door.deliverDocument(patientId, 'hie', {
          bytes: Buffer.from(`file of a ${type}`),
          contentType: 'application/pdf',
          sourceDocumentId: `${type}/own`,
        }),
      ),
    );
    const all = JSON.stringify(
      resourcesIn(await door.bundle(`Patient/${patientId}/$everything`)),
    );
    expect(all).not.toContain('hospital.example.org');
    for (const id of ids) {
      expect(all).toContain(`"url":"${FHIR_BASE}/Binary/${id}"`);
      expect((await door.get(`Binary/${id}`)).statusCode).toBe(200);
    }
    const { documents } = (
      await door.get(
        `${TEST_BASE_URL}/medical/v1/document?patientId=${patientId}&output=dto`,
      )
    ).json();
    expect(
      documents.map(({ description }: { description: string }) => description),
    ).toEqual(expect.arrayContaining(['Biopsy', 'Communication']));
  });

  test('needs a key of the account, and each read is in its audit', async () => {
    expect((await door.get(address(), { 'x-api-key': '' })).statusCode).toBe(
      401,
    );
    expect((await door.get(`Binary/${patientId}`)).statusCode).toBe(404);
    expect((await door.get('Binary/1')).statusCode).toBe(404);
    await door.get(address());
    const audited = await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['patient_id', 'target_id', 'outcome'])
        .where('operation', '=', 'fhirReadBinary')
        .where('outcome', '=', '200')
        .execute(),
    );
    expect(audited.at(-1)).toEqual({
      patient_id: patientId,
      target_id: documentId,
      outcome: '200',
    });
  });

  test('answers 410 once the source has withdrawn the document', async () => {
    const of = {
      bytes: Buffer.from('about another person'),
      contentType: 'text/plain',
    };
    const id = await door.deliverDocument(patientId, 'hie', {
      ...of,
      sourceDocumentId: 'withdrawn',
    });
    await deliver('withdrawn');
    expect((await door.get(`Binary/${id}`)).statusCode).toBe(200);
    await deliver({ id: 'withdrawn', status: 'entered-in-error' });
    expect((await door.get(`Binary/${id}`)).statusCode).toBe(410);
  });
});
