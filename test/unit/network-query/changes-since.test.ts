import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  basisOf,
  changesSince,
} from '../../../src/exchange/queries/network-query/collection-store.ts';
import { ada } from '../../support/ada.ts';
import { property } from '../../support/property.ts';

const HOUR_MS = 60 * 60_000;
const now = new Date('2026-11-22T12:00:00Z');
const ago = (hours: number) => new Date(now.getTime() - hours * HOUR_MS);
const last = {
  basis: 'b',
  patientIds: ['p1'],
  fullAt: ago(100),
  askedAt: ago(10),
  differences: {},
};
const asking = { basis: 'b', now, fullAfterDays: 7 };

property([
  fc.double({ min: 0, max: 400, noNaN: true }),
  fc.double({ min: 0, max: 400, noNaN: true }),
])(
  'changes are asked for from a day before the last collection, while everything was asked for within the days set',
  (fullHours, askedHours) => {
    const since = changesSince(
      { ...last, fullAt: ago(fullHours), askedAt: ago(askedHours) },
      asking,
    );
    if (Math.round(fullHours * HOUR_MS) >= 7 * 24 * HOUR_MS)
      expect(since).toBeUndefined();
    else
      expect(since?.getTime()).toBeLessThanOrEqual(
        ago(askedHours + 24).getTime() + 1,
      );
  },
);

test.each([
  ['nothing was collected completely', undefined],
  [
    'something that decides about the data has changed',
    { ...last, basis: 'other' },
  ],
  [
    'the last collection is in the future, by a clock that went back',
    { ...last, askedAt: ago(-1) },
  ],
  [
    'everything was asked for in the future, by a clock that went back',
    { ...last, fullAt: ago(-1) },
  ],
])('everything is asked for when %s', (_why, before) => {
  expect(changesSince(before, asking)).toBeUndefined();
});

test.each([
  ['a name', { lastNames: ['King'] }],
  ['the date of birth', { dob: '1815-12-11' }],
  ['an address', { addresses: [] }],
  ['a phone number', { contacts: [{ phone: '6175550199' }] }],
])('%s decides which data is asked for', (_what, changed) => {
  expect(basisOf({ ...ada, ...changed }, 'f')).not.toBe(basisOf(ada, 'f'));
});

test('so does the connection, and the same person at the same connection is the same', () => {
  expect(basisOf(ada, 'other')).not.toBe(basisOf(ada, 'f'));
  expect(basisOf({ ...ada }, 'f')).toBe(basisOf(ada, 'f'));
});
