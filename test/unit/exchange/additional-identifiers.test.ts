import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXTERNAL_SYSTEMS } from '../../../src/contract/patients.ts';
import {
  normaliseAdditionalIdentifiers,
  uniteAdditionalIdentifiers,
} from '../../../src/exchange/people/patients/rules/patient-normalisation.ts';

const given = fc.dictionary(
  fc.constantFrom(...EXTERNAL_SYSTEMS),
  fc.array(fc.constantFrom('1', '2', 'a', 'A', ' a'), { maxLength: 6 }),
);

describe('additional identifiers', () => {
  test('lose nothing when united, and hold each id once', () => {
    fc.assert(
      fc.property(given, given, (first, second) => {
        const known = normaliseAdditionalIdentifiers(first);
        const united = uniteAdditionalIdentifiers(known, second);
        for (const part of [first, second])
          for (const [system, ids] of Object.entries(part))
            for (const id of ids) expect(united[system]).toContain(id.trim());
        for (const ids of Object.values(united)) {
          expect(ids.length).toBeGreaterThan(0);
          expect(new Set(ids).size).toBe(ids.length);
        }
        expect(uniteAdditionalIdentifiers(united, second)).toEqual(united);
        expect(uniteAdditionalIdentifiers(known, undefined)).toBe(known);
      }),
    );
  });
});
