import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rangeOf } from '#record-summary/fhir';
import {
  alternativeOf,
  DATE_PREFIXES,
  matchesAll,
  matchesDate,
  NOT_INDEXED,
  parseDateCondition,
  searchEntries,
} from '../../../src/exchange/records/rules/search.ts';
import { property } from '../../support/property.ts';

const instant = fc.date({
  min: new Date('1900-01-01'),
  max: new Date('2100-01-01'),
  noInvalidDate: true,
});
const partial = fc
  .tuple(instant, fc.constantFrom(4, 7, 10, 24))
  .map(([at, length]) => at.toISOString().slice(0, length));

describe('a date of a search', () => {
  property([instant, fc.integer({ min: -14 * 60, max: 14 * 60 })])(
    'is the same second in whatever zone it is written',
    (at, offset) => {
      const sign = offset < 0 ? '-' : '+';
      const [hours, minutes] = [
        Math.abs(offset) / 60,
        Math.abs(offset) % 60,
      ].map((part) => String(Math.floor(part)).padStart(2, '0'));
      const local = new Date(at.getTime() + offset * 60_000)
        .toISOString()
        .slice(0, 19);
      const second = at.toISOString().slice(0, 19);
      expect(rangeOf(`${local}${sign}${hours}:${minutes}`)).toEqual({
        from: `${second}.000Z`,
        to: `${second}.999Z`,
        firstDay: local.slice(0, 10),
        lastDay: local.slice(0, 10),
      });
    },
  );

  property([partial, partial])(
    'is one of before, within, after or overlapping',
    (given, target) => {
      const range = rangeOf(target);
      if (range === undefined) throw new Error('not a date');
      const holds = (prefix: string) => {
        const condition = parseDateCondition(`${prefix}${given}`);
        return condition !== undefined && matchesDate(condition, range);
      };
      const is = Object.fromEntries(
        DATE_PREFIXES.map((prefix) => [prefix, holds(prefix)]),
      );
      expect(is.eq).toBe(!is.ne);
      expect(is.ge).toBe(is.gt === true || is.eq === true);
      expect(is.le).toBe(is.lt === true || is.eq === true);
      if (is.sa) expect([is.gt, is.eq, is.eb]).toEqual([true, false, false]);
      if (is.eb) expect([is.lt, is.eq, is.sa]).toEqual([true, false, false]);
      expect(is.eq || is.gt || is.lt).toBe(true);
      expect(parseDateCondition(given)).toEqual(
        parseDateCondition(`eq${given}`),
      );
    },
  );

  test.each([
    '',
    '2026-13',
    '2026-02-30',
    'ge',
    'xx2026',
    '2026-01-01T25:00:00Z',
    '26-01-01',
  ])('is not %j', (text) => expect(parseDateCondition(text)).toBeUndefined());

  test('without a time is the day that was written; with a time, an instant', () => {
    const evening = rangeOf('2026-05-01T23:30:00-05:00');
    expect(evening).toEqual({
      from: '2026-05-02T04:30:00.000Z',
      to: '2026-05-02T04:30:00.999Z',
      firstDay: '2026-05-01',
      lastDay: '2026-05-01',
    });
    const holds = (text: string) => {
      const condition = parseDateCondition(text);
      return condition && evening && matchesDate(condition, evening);
    };
    expect(holds('2026-05-01')).toBe(true);
    expect(holds('2026-05-02')).toBe(false);
    expect(holds('2026-05-02T04:30:00Z')).toBe(true);
    // The + of a zone arrives as a blank in a URL.
    expect(holds('2026-05-02T06:30:00 02:00')).toBe(true);
  });
});

describe('the index of a resource', () => {
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: {
      coding: [{ system: 'http://loinc.org', code: '8480-6' }, { code: 'BP' }],
    },
    effectivePeriod: { start: '2026-05-01' },
    identifier: [{ system: 'urn:lab', value: '7|8' }],
  };

  test('holds codes with their systems, and open periods', () => {
    expect(searchEntries(observation)).toEqual(
      expect.arrayContaining([
        'code=http://loinc.org|8480-6',
        'code=|BP',
        'status=*|final',
        'identifier=urn:lab|7|8',
        'date@2026-05-01T00:00:00.000Z~9999-12-31T23:59:59.999Z~2026-05-01~9999-12-31',
      ]),
    );
  });

  test('that is too large matches anything, so that nothing is missed', () => {
    const coding = Array.from({ length: 200 }, (_, index) => ({
      system: 'urn:x',
      code: String(index),
    }));
    const entries = searchEntries({
      resourceType: 'Observation',
      code: { coding },
    });
    expect(entries.length).toBeLessThanOrEqual(101);
    expect(entries).toContain(NOT_INDEXED);
    const parameter = { kind: 'token', paths: [] } as const;
    const wanted = alternativeOf('code', parameter, 'urn:x|199');
    expect(wanted && matchesAll(entries, [[wanted]])).toBe(true);
  });

  test('of a part that has no value is empty', () => {
    expect(
      searchEntries({
        resourceType: 'Observation',
        code: null,
        status: 7,
        effectiveDateTime: 'soon',
      }),
    ).toEqual([]);
  });
});
