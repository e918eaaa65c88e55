import { expect } from 'vitest';
import { summaryEntry } from '#record-summary';
import { resourceOrigins } from '../../src/exchange/records/merge/resource-origins.ts';
import { forReaders } from '../../src/exchange/records/reading/record-reader.ts';
import {
  provenanceOf,
  withStatedOn,
} from '../../src/exchange/records/rules/provenance.ts';
import { delivery } from '../support/deliveries.ts';
import { recordTest as test } from '../support/fixtures.ts';
import type { Delivered } from '../support/merge-deliveries.ts';

const stated = (day: string, status: string): Delivered => ({
  ...delivery(
    'hie',
    withStatedOn(
      {
        resourceType: 'MedicationRequest',
        id: `ccda.${day.replaceAll('-', '')}.1`,
        subject: { reference: 'Patient/p' },
        identifier: [{ system: 'urn:oid:1.2.3', value: '7' }],
        status,
        intent: 'order',
        medicationCodeableConcept: { text: 'Lisinopril' },
      },
      day,
    ),
  ),
  isConverted: true,
});
const older = stated('2023-05-01', 'active');
const newer = stated('2024-03-01', 'stopped');

test.for([
  ['the older first', [older, newer]],
  ['the newer first', [newer, older]],
] as const)(
  'of two documents, merged one after the other, %s, the newer one counts, and the older one stays among the origins',
  async ([_, order], { environment }) => {
    const { accountId, store, records } = environment;
    const patientId = await environment.addPatient({
      firstNames: ['A'],
      lastNames: ['B'],
      dob: '1980-01-01',
      gender: 'F',
      addresses: [],
      personalIdentifiers: [],
      contacts: [],
    });
    for (const each of order) {
      await environment.deliver(patientId, 'hie', [each], ['p']);
      await records.merge(accountId, patientId);
    }
    const all = await environment.read(patientId, {
      types: ['MedicationRequest'],
    });
    expect(all).toMatchObject([
      {
        content: { status: 'stopped' },
        origins: [
          { statedOn: '2024-03-01' },
          { superseded: { status: 'active' } },
        ],
      },
    ]);
    const [resource] = all;
    if (resource === undefined) throw new Error('the resource is gone');
    expect(summaryEntry(forReaders(resource)).origin).toBe(
      'HIE (document of 1 Mar 2024); before: active (HIE (document of 1 May 2023))',
    );
    expect(provenanceOf(resource, patientId)).toMatchObject({
      entity: [{ role: 'revision' }, { role: 'derivation' }],
    });
    const { origins } = await store.asAccount(accountId, (tx) =>
      resourceOrigins(tx, patientId, resource.id),
    );
    expect(origins).toMatchObject([
      {
        leads: true,
        superseded: false,
        statedOn: '2024-03-01',
        unitedBy: [{ key: 'identifier' }, { key: 'statement' }],
      },
      { leads: false, superseded: true, statedOn: '2023-05-01' },
    ]);
  },
);
