import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clinicalTime, moment } from '../../src/fhir/dates.ts';
import { property } from '../property.ts';

const days = (resource: Record<string, unknown>) => {
  const time = clinicalTime(resource).days;
  return time === undefined ? undefined : `${time.from} ${time.to}`;
};

describe('the days in which a resource counts', () => {
  test.each<[string, Record<string, unknown>, string | undefined]>([
    [
      'a result: its day, as written',
      {
        resourceType: 'Observation',
        effectiveDateTime: '2024-05-01T23:30:00-05:00',
        issued: '2024-05-09T00:00:00Z',
      },
      '2024-05-01 2024-05-01',
    ],
    [
      'a result known only when it was issued',
      { resourceType: 'Observation', issued: '2024-05-09T00:00:00Z' },
      '2024-05-09 2024-05-09',
    ],
    [
      'a year stands for all of its days',
      { resourceType: 'Procedure', performedDateTime: '2023' },
      '2023-01-01 2023-12-31',
    ],
    [
      'a month too',
      { resourceType: 'Procedure', performedDateTime: '2024-02' },
      '2024-02-01 2024-02-29',
    ],
    [
      'an encounter: from its start to its end',
      {
        resourceType: 'Encounter',
        status: 'finished',
        period: { start: '2024-01-30T10:00:00Z', end: '2024-02-02T10:00:00Z' },
      },
      '2024-01-30 2024-02-02',
    ],
    [
      'an encounter that goes on',
      {
        resourceType: 'Encounter',
        status: 'in-progress',
        period: { start: '2024-01-30' },
      },
      '2024-01-30 infinity',
    ],
    [
      'an encounter that ended some time',
      {
        resourceType: 'Encounter',
        status: 'finished',
        period: { start: '2024-01-30' },
      },
      '2024-01-30 2024-01-30',
    ],
    [
      'a problem that lasts',
      { resourceType: 'Condition', onsetDateTime: '2010-05-01' },
      '2010-05-01 infinity',
    ],
    [
      'a problem with an end',
      {
        resourceType: 'Condition',
        onsetDateTime: '2010-05-01',
        abatementDateTime: '2012-01-01',
      },
      '2010-05-01 2012-01-01',
    ],
    [
      'a problem that is over',
      {
        resourceType: 'Condition',
        onsetDateTime: '2010-05-01',
        clinicalStatus: { coding: [{ code: 'resolved' }] },
      },
      '2010-05-01 2010-05-01',
    ],
    [
      'an allergy lasts',
      { resourceType: 'AllergyIntolerance', recordedDate: '2010-05-01' },
      '2010-05-01 infinity',
    ],
    [
      'a prescription: when it was written',
      {
        resourceType: 'MedicationRequest',
        status: 'active',
        authoredOn: '2020-01-02',
      },
      '2020-01-02 2020-01-02',
    ],
    [
      'a period that ends before it begins',
      {
        resourceType: 'Encounter',
        period: { start: '2024-01-30', end: '2023-01-30' },
      },
      '2024-01-30 2024-01-30',
    ],
    [
      'nothing that is a date',
      { resourceType: 'Observation', effectiveDateTime: '2023-02-31' },
      undefined,
    ],
    [
      'no year 0',
      { resourceType: 'Observation', effectiveDateTime: '0000-01-01' },
      undefined,
    ],
    [
      'a type without a clinical date',
      { resourceType: 'Practitioner', birthDate: '1970-01-01' },
      undefined,
    ],
  ])('%s', (_, resource, expected) => {
    expect(days(resource)).toBe(expected);
  });

  property(
    [
      fc.oneof(
        fc.string(),
        fc.stringMatching(
          /^\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?)?)?$/,
        ),
      ),
    ],
    { numRuns: 500 },
  )('are days that a calendar has, whatever a source sends', (text) => {
    const found = days({
      resourceType: 'Condition',
      onsetDateTime: text,
      abatementDateTime: text,
    });
    if (found === undefined) expect(moment(text)).toBeUndefined();
    for (const day of found?.split(' ') ?? []) {
      expect(new Date(day).toISOString().slice(0, 10)).toBe(day);
    }
  });
});
