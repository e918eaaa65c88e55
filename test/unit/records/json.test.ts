import fc from 'fast-check';
import { expect } from 'vitest';
import { sortedNames } from '../../../src/exchange/records/rules/json.ts';
import { property } from '../../support/property.ts';

property([fc.uniqueArray(fc.string(), { maxLength: 60 })])(
  'names are in the text order of JavaScript, be they few or many',
  (names) => {
    const object = Object.fromEntries(names.map((name) => [name, 1]));
    expect(sortedNames(object)).toEqual(Object.keys(object).sort());
  },
);
