import type { MedicationRequest } from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { dispensesOf } from '../../../tools/simulator/data/patient-view.ts';

const request: MedicationRequest = {
  resourceType: 'MedicationRequest',
  id: 'r1',
  status: 'active',
  intent: 'order',
  authoredOn: '2025-06-01T10:00:00Z',
  subject: { reference: 'urn:uuid:p' },
  medicationCodeableConcept: { text: 'a medicine' },
};

describe('what a pharmacy dispensed', () => {
  test('is three fills, thirty days apart, for an active prescription, and one otherwise', () => {
    const dates = dispensesOf(request).map(({ whenHandedOver }) =>
      whenHandedOver?.slice(0, 10),
    );
    expect(dates).toEqual(['2025-06-02', '2025-07-02', '2025-08-01']);
    expect(dispensesOf({ ...request, status: 'stopped' })).toHaveLength(1);
  });

  test('is nothing after the day the samples were made for', () => {
    expect(
      dispensesOf({ ...request, authoredOn: '2025-12-20T10:00:00Z' }),
    ).toHaveLength(1);
  });

  test('is the same each time it is derived, under ids of its own', () => {
    expect(dispensesOf(request)).toEqual(dispensesOf(request));
    expect(new Set(dispensesOf(request).map(({ id }) => id)).size).toBe(3);
  });
});
