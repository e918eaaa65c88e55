import fc from 'fast-check';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, expect } from 'vitest';
import { listDocuments } from '../../src/exchange/delivery/documents/document-store.ts';
import { takeAdminRole } from '../../src/exchange/platform/database/database.ts';
import { moveContents } from '../../src/exchange/records/packing/packing-store.ts';
import { delivery, personOf, smallSamples } from '../support/deliveries.ts';
import { recordTest as test } from '../support/fixtures.ts';
import { propertyOf } from '../support/property.ts';
import type { RecordEnvironment } from '../support/record-environment.ts';
import { withholdLabels } from '../support/withhold.ts';

const [sample] = smallSamples;
if (sample === undefined) throw new Error('the sample is gone');
const person = personOf(sample);
const CONFIDENTIALITY =
  'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
const LOADED = { system: 'http://loaded.example.org', code: 'X1' };
const LABELS = ['N', 'R', 'V', 'ETH', 'ETHUD', 'SUD'] as const;

type Label = (typeof LABELS)[number] | undefined;
const codingOf = (label: Label) => ({ system: CONFIDENTIALITY, code: label });
const metaOf = (label: Label) =>
  label === undefined ? {} : { meta: { security: [codingOf(label)] } };

/** By what a resource can be withheld: each way of `is_sensitive`, and each that repeats another one. */
const WAYS: readonly ((label: Label) => object)[] = [
  (label) => ({ resourceType: 'Observation', id: 'own', ...metaOf(label) }),
  (label) => ({
    resourceType: 'Condition',
    id: 'holder',
    contained: [{ resourceType: 'Observation', id: 'c', ...metaOf(label) }],
  }),
  (label) => ({
    resourceType: 'DocumentReference',
    id: 'd',
    ...(label !== undefined && {
      securityLabel: [{ coding: [codingOf(label)] }],
    }),
  }),
  (label) => ({
    resourceType: 'Procedure',
    id: 'inline',
    ...(label !== undefined && {
      note: [
        {
          text: 'a part',
          extension: [
            {
              url: 'http://hl7.org/fhir/uv/security-label-ds4p/StructureDefinition/extension-inline-sec-label',
              valueCoding: codingOf(label),
            },
          ],
        },
      ],
    }),
  }),
  (label) => ({ resourceType: 'Medication', id: 'm', ...metaOf(label) }),
  (label) => ({
    resourceType: 'MedicationRequest',
    id: 'mr',
    ...metaOf(label),
    medicationReference: { reference: 'Medication/m' },
  }),
  (label) => ({
    resourceType: 'DiagnosticReport',
    id: 'report',
    ...metaOf(label),
    result: [{ reference: 'Observation/own' }],
  }),
  () => ({
    resourceType: 'AllergyIntolerance',
    id: 'loaded',
    code: { coding: [LOADED] },
  }),
  (label) => ({
    resourceType: 'Immunization',
    id: 'of-document',
    ...metaOf(label),
  }),
];

const policies = fc.record({
  labels: fc.tuple(
    ...WAYS.map(() => fc.constantFrom<Label>(undefined, ...LABELS)),
  ),
  withheld: fc.subarray([...LABELS]),
  consent: fc.option(
    fc.record({
      decision: fc.constantFrom('permit', 'deny'),
      labels: fc.subarray([...LABELS], { minLength: 1 }),
    }),
  ),
  loaded: fc.constantFrom(...LABELS),
});

type Policy = typeof policies extends fc.Arbitrary<infer T> ? T : never;

async function addRecord(
  environment: RecordEnvironment,
  { labels, withheld, consent, loaded }: Policy,
): Promise<string> {
  const { store, accountId } = environment;
  const patientId = await environment.addPatient({
    ...person,
    externalId: uuidv7(),
  });
  const given = WAYS.map((way, index) =>
    delivery('hie', {
      ...way(labels[index]),
      subject: { reference: 'Patient/p' },
    }),
  );
  await environment.deliver(patientId, 'hie', given, ['p']);
  for (const sourceDocumentId of ['d', 'DiagnosticReport/report'])
    await environment.deliverDocument(patientId, 'hie', {
      bytes: Buffer.from(`the file of ${sourceDocumentId}`),
      contentType: 'application/pdf',
      sourceDocumentId,
    });
  await store.asAccount(accountId, (tx) =>
    sql`update patient_resource set converted_from = 'd'
      where patient_id = ${patientId} and source_id = 'of-document'`.execute(
      tx.db,
    ),
  );
  await environment.records.merge(accountId, patientId);
  await withholdLabels(store, accountId, withheld);
  await store.asSystem(async (tx) => {
    await takeAdminRole(tx);
    await sql`delete from sensitive_code`.execute(tx.db);
    await sql`insert into sensitive_code (label, system, code) values (${loaded}, ${LOADED.system}, ${LOADED.code})`.execute(
      tx.db,
    );
  });
  if (consent !== null)
    await store.asAccount(accountId, (tx) =>
      sql`insert into consent (id, account_id, patient_id, decision, labels)
        values (${uuidv7()}, ${accountId}, ${patientId}, ${consent.decision}, ${consent.labels}::text[])`.execute(
        tx.db,
      ),
    );
  return patientId;
}

/** What is withheld of a record, by every statement that asks it. */
async function withheldOf(
  { store, accountId, text }: RecordEnvironment,
  patientId: string,
) {
  const asked = await store.asAccount(accountId, async (tx) => {
    const { rows } = await sql<{ resources: string[]; documents: boolean[] }>`
      select array(select w from withheld_resources(${accountId}, ${patientId}) w order by w) as resources,
        array(select is_withheld(d) from document d where patient_id = ${patientId} order by id) as documents,
        array(select c from resources_carrying('{ETH,V}', ${patientId}) c order by c) as carrying`.execute(
      tx.db,
    );
    return { ...rows[0], listed: await listDocuments(tx, patientId) };
  });
  return { ...asked, text: await text(patientId) };
}

let withheldOnce = 0;
afterAll(() => expect(withheldOnce).toBeGreaterThan(0));

const withholding = propertyOf([policies], { numRuns: 25 });
test(
  withholding.named('what a policy withholds is the same in rows and in packs'),
  ({ environment }) =>
    withholding.holds(async (given) => {
      const { store, accountId } = environment;
      const patientId = await addRecord(environment, given);
      const before = await withheldOf(environment, patientId);
      withheldOnce += before.resources?.length ?? 0;
      const moved = await store.asAccount(accountId, (tx) =>
        moveContents(tx, 'pack', patientId, 1_000),
      );
      expect(moved).toBe(WAYS.length);
      expect(await withheldOf(environment, patientId)).toEqual(before);
    }),
);
