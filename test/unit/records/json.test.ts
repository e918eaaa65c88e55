import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { type Json, rememberingLast, sortedNames } from '#record-summary/fhir';
import { hashOf } from '../../../src/exchange/records/rules/ids.ts';
import { jsonLength } from '../../../src/exchange/records/rules/json-length.ts';
import { property } from '../../support/property.ts';

property([fc.uniqueArray(fc.string(), { maxLength: 60 })])(
  'names are in the text order of JavaScript, be they few or many',
  (names) => {
    const object = Object.fromEntries(names.map((name) => [name, 1]));
    expect(sortedNames(object)).toEqual(Object.keys(object).sort());
  },
);

property([fc.array(fc.jsonValue())])(
  'a stored key is the first 128 bits of SHA-256 in base64url, as it has always been',
  (parts) => {
    const digest = createHash('sha256').update(JSON.stringify(parts)).digest();
    expect(hashOf(parts)).toBe(digest.subarray(0, 16).toString('base64url'));
  },
);

property([fc.array(fc.nat(2))])(
  'what is remembered of one object is never the answer for another',
  (order) => {
    const objects: Json[] = [{ of: 0 }, { of: 1 }, { of: 2 }];
    const read = rememberingLast(({ of }) => of);
    for (const index of order) expect(read(objects[index] ?? {})).toBe(index);
  },
);

const anyCharacter = fc
  .integer({ min: 0, max: 0xffff })
  .map((code) => String.fromCharCode(code));
property([fc.jsonValue({ stringUnit: anyCharacter })])(
  'the length of JSON is that of its text',
  (value) => {
    expect(jsonLength(value)).toBe(JSON.stringify(value).length);
  },
);
