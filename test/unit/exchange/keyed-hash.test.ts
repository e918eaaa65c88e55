import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { keyedHash } from '../../../src/exchange/people/patients/rules/identity-keys.ts';
import { anyCharacter, property } from '../../support/property.ts';

/** From empty to far beyond the memory that is kept for usual texts. */
const text = fc
  .tuple(fc.string({ unit: anyCharacter }), fc.constantFrom(1, 10, 1_000))
  .map(([part, times]) => part.repeat(times));

property([text, fc.array(text, { maxLength: 4 })])(
  'a keyed hash is the HMAC-SHA-256 of the text, whatever the lengths of key and text, one after the other',
  (key, texts) =>
    texts.every((one) => keyedHash(key, one) === createHmac('sha256', key).update(one).digest('binary')),
);
