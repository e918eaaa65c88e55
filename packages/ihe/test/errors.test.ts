import { describe, expect, test } from 'vitest';
import { meaningOfIheError, weightiestMeaning } from '../src/index.ts';

describe("an error of IHE's", () => {
  test.each([
    ['XDSRegistryBusy', 'again-later'],
    [
      'urn:oasis:names:tc:ebxml-regrep:ErrorCode:XDSRepositoryBusy',
      'again-later',
    ],
    ['XDSTooManyResults', 'ask-less'],
    ['XDSUnknownPatientId', 'discover-again'],
    ['XDSMissingHomeCommunityId', 'our-fault'],
    ['XDSDocumentUniqueIdError', 'document-missing'],
    ['XDSRegistryError', 'failed'],
    ['1', 'failed'],
    ['', 'failed'],
    ['constructor', 'failed'],
  ])('means one thing: %s, %s', (code, meaning) => {
    expect(meaningOfIheError(code)).toBe(meaning);
  });

  test('among several is the one that must be dealt with first', () => {
    const problems = ['XDSDocumentUniqueIdError', 'XDSRegistryBusy'].map(
      (code) => ({ meaning: meaningOfIheError(code) }),
    );

    expect(weightiestMeaning(problems)).toBe('again-later');
    expect(weightiestMeaning([])).toBeUndefined();
  });
});
