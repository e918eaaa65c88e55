import { describe, expect, test } from 'vitest';
import { birthDateOfHl7, readHl7Time, writeHl7Time } from '../src/index.ts';

describe('a time of HL7', () => {
  test.each([
    ['2026', '2026', undefined],
    ['197002', '1970-02', undefined],
    ['19630804', '1963-08-04', undefined],
    ['20260101120000', '2026-01-01', '2026-01-01T12:00:00.000Z'],
    ['2026010112', '2026-01-01', '2026-01-01T12:00:00.000Z'],
    ['20260101120000.1234', '2026-01-01', '2026-01-01T12:00:00.123Z'],
    ['20260101233000-0500', '2026-01-01', '2026-01-02T04:30:00.000Z'],
    ['20260101003000+02:00', '2026-01-01', '2025-12-31T22:30:00.000Z'],
    ['20260101120000Z', '2026-01-01', '2026-01-01T12:00:00.000Z'],
  ])('is read: %s', (text, date, instant) => {
    expect(readHl7Time(text)).toEqual({ written: text, date, instant });
  });

  test.each([
    '2011111725448',
    '19849711',
    '20260230',
    '20260001',
    '2026-01-01',
    'yesterday',
    '',
  ])('that is none stays said, and nothing is guessed: %s', (text) => {
    expect(readHl7Time(text)).toEqual({
      written: text,
      date: undefined,
      instant: undefined,
    });
  });

  test('with hours that are none is still a date', () => {
    expect(readHl7Time('2026010199')).toMatchObject({
      date: '2026-01-01',
      instant: undefined,
    });
  });

  test('of birth states its day, which no offset moves', () => {
    expect(birthDateOfHl7('19630804233000-0500')).toBe('1963-08-04');
    expect(birthDateOfHl7('19630804003000+0900')).toBe('1963-08-04');
  });

  test('is written in UTC without an offset', () => {
    expect(writeHl7Time(new Date('2026-03-01T12:00:00.5Z'))).toBe(
      '20260301120000',
    );
  });
});
