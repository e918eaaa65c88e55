import type { Patient } from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import type { Demographics } from '../../../src/exchange/people/patients/rules/demographics.ts';
import { chooseCandidates } from '../../../src/exchange/sources/connectors/patient/choose-candidates.ts';

const home = {
  line: ['12 Elm St'],
  city: 'Boston',
  state: 'MA',
  postalCode: '02115',
};
const phone = { system: 'phone' as const, value: '617-200-0100' };
const ours: Demographics = {
  firstNames: ['Rosalind'],
  lastNames: ['Garcia'],
  dob: '2015-06-07',
  gender: 'F',
  addresses: [
    {
      addressLine1: '12 Elm St',
      city: 'Boston',
      state: 'MA',
      zip: '02115',
      country: 'USA',
    },
  ],
  contacts: [{ phone: '6172000100' }],
  personalIdentifiers: [],
};
const patient = (id: string, change: Partial<Patient> = {}) => ({
  resourceType: 'Patient' as const,
  id,
  name: [{ given: ['Rosalind'], family: 'Garcia' }],
  birthDate: '2015-06-07',
  gender: 'female' as const,
  address: [home],
  telecom: [phone],
  ...change,
});
const named = (id: string, ...given: string[]) =>
  patient(id, { name: [{ given, family: 'Garcia' }] });
const ssn = (value: string) => ({
  identifier: [{ system: 'http://hl7.org/fhir/sid/us-ssn', value }],
});
const chosen = (
  ...candidates: Array<[ReturnType<typeof patient>, boolean?]>
) => {
  const { accepted, heldBack } = chooseCandidates(
    ours,
    candidates.map(([each, isClaimed = false]) => ({
      patient: each,
      isClaimed,
    })),
  );
  return { ids: accepted.map(({ id }) => id), heldBack };
};

describe('of several Patients that a source returns', () => {
  test('all are taken that describe one person', () => {
    expect(chosen([patient('p1')], [named('p2', 'Rosalind', 'Ann')])).toEqual({
      ids: ['p1', 'p2'],
    });
  });

  test('the one that the source is less sure of than of another one is held back', () => {
    const { ids, heldBack } = chosen(
      [patient('p1'), true],
      [patient('p2'), false],
    );
    expect(ids).toEqual(['p1']);
    expect(heldBack).toContain(
      '1 Patient that the source itself is less sure of',
    );
    expect(chosen([patient('p2'), false])).toEqual({ ids: ['p2'] });
  });

  test('none is taken of two that contradict each other, in any order', () => {
    const twins = [
      named('p1', 'Rosalind', 'Ann'),
      named('p2', 'Rosalind', 'Beth'),
    ] as const;
    const numbers = [
      patient('p1', ssn('512345671')),
      patient('p2', ssn('623456782')),
    ] as const;
    for (const [one, other] of [twins, numbers])
      for (const pair of [
        [one, other],
        [other, one],
      ] as const) {
        const { ids, heldBack } = chosen(
          ...pair.map((each) => [each, true] as [typeof each, boolean]),
        );
        expect(ids).toEqual([]);
        expect(heldBack).toContain(
          '2 Patients that cannot be this patient together',
        );
      }
  });

  test('the exact one is taken before one with an error that contradicts it', () => {
    const near = patient('p2', { birthDate: '2015-06-08' });
    expect(chosen([patient('p1')], [near]).ids).toEqual(['p1']);
    expect(chosen([near]).ids).toEqual(['p2']);
  });

  test('beside an exact one, a mistyped one is taken only by an identifier', () => {
    const name = [{ given: ['Rosalind'], family: 'Garcias' }];
    const mistyped = patient('p2', { name });
    expect(chosen([patient('p1')], [mistyped]).ids).toEqual(['p1']);
    expect(chosen([mistyped]).ids).toEqual(['p2']);
  });

  test('those that may be ours are counted, without a word about them', () => {
    const { ids, heldBack } = chosen(
      [named('p1', 'Rosalinde')],
      [patient('p2', { gender: 'unknown' as never, ...ssn('1') })],
    );
    expect(ids).toEqual(['p2']);
    expect(heldBack).toContain(
      '1 Patient that may be this patient, which is not certain',
    );
    expect(heldBack).not.toMatch(/Rosalind|Garcia|2015/);
  });
});

describe('what a person has decided', () => {
  const decide = (each: ReturnType<typeof patient>, isOurs: boolean) => {
    const review = {
      decided: new Map([['p1', isOurs]]),
      note: async () => undefined,
    };
    const { accepted, held } = chooseCandidates({ ...ours, review }, [
      { patient: each, isClaimed: true },
    ]);
    return {
      ids: accepted.map(({ id }) => id),
      held: held.map(({ id }) => id),
    };
  };
  const alike = named('p1', 'Rosalinde');

  test('an accepted one is taken, another one stays on the list', () => {
    expect(decide(alike, true)).toEqual({ ids: ['p1'], held: [] });
    expect(decide({ ...alike, id: 'p2' }, true)).toEqual({
      ids: [],
      held: ['p2'],
    });
  });

  test('one that contradicts an accepted one is not taken beside it, however exactly it is described', () => {
    const accepted = patient('p1', { birthDate: '2015-06-08' });
    const twin = patient('p2');
    const review = {
      decided: new Map([['p1', true]]),
      note: async () => undefined,
    };
    for (const found of [
      [accepted, twin],
      [twin, accepted],
    ]) {
      const candidates = found.map((each) => ({
        patient: each,
        isClaimed: true,
      }));
      const { accepted: taken, held } = chooseCandidates(
        { ...ours, review },
        candidates,
      );
      expect([taken.map(({ id }) => id), held.map(({ id }) => id)]).toEqual([
        ['p1'],
        ['p2'],
      ]);
    }
  });

  test('an accepted one that has become somebody else is not taken', () => {
    expect(decide(named('p1', 'Beatrice'), true)).toEqual({
      ids: [],
      held: [],
    });
  });

  test('a refused one is never taken, not even if it is certain', () => {
    expect(decide(patient('p1'), true).ids).toEqual(['p1']);
    expect(decide(patient('p1'), false)).toEqual({ ids: [], held: [] });
  });
});
