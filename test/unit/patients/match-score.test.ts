import { readFileSync } from 'node:fs';
import type fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  comparePersons,
  gradeMatch,
  MATCH_RULES_VERSION,
  traitsOfPerson,
} from '#person-matching';
import { anyPerson } from '../../../packages/person-matching/test/any-person.ts';
import type { Demographics } from '../../../src/exchange/people/patients/rules/demographics.ts';
import { identityKeys } from '../../../src/exchange/people/patients/rules/identity-keys.ts';
import { property } from '../../support/property.ts';

const stored = anyPerson.map((person) => ({
  ...person,
  addresses: person.addresses.map((address) => ({
    ...address,
    country: 'USA',
  })),
})) as fc.Arbitrary<Demographics>;

property([stored, stored], { numRuns: 500 })(
  'everybody whom creating a patient matches is certain, at least as very good',
  (left, right) => {
    const hex = (each: Demographics) =>
      identityKeys('k', 'account', each).map((key) => key.toString('hex'));
    const keys = new Set(hex(left));
    if (!hex(right).some((key) => keys.has(key))) return;
    const match = gradeMatch(
      comparePersons(traitsOfPerson(left), traitsOfPerson(right)),
    );
    expect(match.grade).toBe('certain');
    expect(match.score).toBeGreaterThanOrEqual(0.7);
  },
);

test('docs/matching.md describes the version of the rules', () => {
  expect(readFileSync('docs/matching.md', 'utf8')).toContain(
    `Rules version ${MATCH_RULES_VERSION} (`,
  );
});
