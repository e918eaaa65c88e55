import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FIELDS_LEFT_OUT, parseHl7, readHl7 } from '../src/index.ts';
import { CLINICAL_MESSAGES } from '../src/mappings/clinical-messages.ts';
import type { AnyMessageMapping } from '../src/message-mapping.ts';

const page = readFileSync(
  new URL('../../../docs/hl7v2.md', import.meta.url),
  'utf8',
);
/** The fields in the tables of a section. */
const documented = (...titles: string[]) =>
  titles.flatMap((title) => {
    const section =
      page.split(/^## /m).find((part) => part.startsWith(title)) ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    return rows.flatMap((row) =>
      [...(row.split(' | ')[0] ?? '').matchAll(/`(\w{3}-\d+)/g)].map(
        ([, place = '']) => place,
      ),
    );
  });

/** Each mapping once, by the first type of message that it reads. */
const MESSAGES = Object.entries<AnyMessageMapping>(CLINICAL_MESSAGES).filter(
  ([, mapping], nth, all) =>
    all.findIndex(([, other]) => other === mapping) === nth,
);

const FIELDS = 50;
/**
 * Every field of every segment filled, so that a field is missing from `unused`
 * only if it was read.
 */
function readOf(
  type: string,
  segments: Record<string, Record<number, string>>,
): string[] {
  const names = Object.keys(segments);
  const text = (without: string) =>
    [
      `MSH|^~\\&|A|B|C|D|20261120090000+0000||${type}|1|P|2.5.1`,
      ...names.map((name) =>
        [
          name,
          ...Array.from({ length: FIELDS }, (_, index) =>
            without === `${name}-${index + 1}`
              ? ''
              : (segments[name]?.[index + 1] ?? 'xx'),
          ),
        ].join('|'),
      ),
    ].join('\r');
  const places = names.flatMap((name) =>
    Array.from({ length: FIELDS }, (_, index) => `${name}-${index + 1}`),
  );
  const read = new Set<string>();
  for (const without of ['', ...places]) {
    try {
      const { unused = [] } = readHl7(
        parseHl7(Buffer.from(text(without))),
        'UTC',
      );
      const isFormal = (place: string) =>
        place.endsWith('-1') &&
        !['RXD-1', 'RXE-1', 'EVN-1', 'ORC-1', 'MRG-1', 'SCH-1'].includes(place);
      for (const place of places)
        if (
          place !== without &&
          !isFormal(place) &&
          !unused.includes(place) &&
          !unused.includes(place.slice(0, 3))
        )
          read.add(place);
    } catch {
      // A required field is missing.
    }
  }
  return [...read].sort();
}
const of = (places: readonly string[], ...segments: string[]) =>
  [...new Set(places)]
    .filter((place) => segments.includes(place.slice(0, 3)))
    .sort();

describe('docs/hl7v2.md names exactly the fields that are read', () => {
  const PID = {
    3: 'R1^^^A^MR',
    5: 'Li^Wei',
    7: '19800405',
    11: 'x^^y^MA^02108',
  };
  const time = '20261120080000';
  test('of stays', () => {
    const read = readOf('ADT^A01', {
      EVN: { 2: time, 6: time },
      PID,
      PV1: { 2: 'I', 44: time, 45: time },
      AL1: { 3: 'a^A^L', 6: time },
      DG1: { 3: 'd^D^L', 5: time, 6: 'F', 21: '' },
      PR1: { 3: 'p^P^L', 5: time, 20: 'A' },
    });
    const places = documented('All messages', 'ADT');
    const segments = ['PID', 'PV1', 'AL1', 'DG1', 'PR1'];
    expect(of(read, ...segments)).toEqual(of(places, ...segments));
    expect(of(read, 'EVN')).toEqual(['EVN-2', 'EVN-6']);
  });
  test('of results', () => {
    const numeric = {
      2: 'NM',
      3: '1^T^L',
      5: '1',
      11: 'F',
      14: time,
      19: time,
    };
    const read = readOf('ORU^R01', {
      PID,
      ORC: {},
      OBR: { 3: 'F', 4: '1^T^L', 7: time, 25: 'F' },
      OBX: numeric,
      NTE: {},
      SPM: { 17: time },
    });
    const segments = ['ORC', 'OBR', 'OBX', 'NTE', 'SPM'];
    expect(of(read, ...segments)).toEqual(of(documented('ORU'), ...segments));
  });
  test('of fills', () => {
    const read = readOf('RDS^O13', {
      PID,
      ORC: {},
      RXE: { 1: '^QD', 3: '1' },
      RXR: { 1: 'PO' },
      RXC: {},
      TQ1: { 7: time, 8: time },
      RXD: { 2: '1^T^L', 3: time, 4: '1' },
    });
    const segments = ['ORC', 'RXD', 'RXE', 'TQ1'];
    expect(of(read, ...segments)).toEqual(of(documented('RDS'), ...segments));
  });
  test.each(MESSAGES)('of %s, and where they go', (type, { elements }) => {
    const section =
      page.split(/^## /m).find((part) => part.startsWith(type)) ?? '';
    for (const { from, to } of elements) {
      const row = section
        .split('\n')
        .find(
          (line) =>
            line.includes(`.${to}\``) && line.includes(`\`${from[0]}\``),
        );
      expect(row, `${type} ${to}`).toBeDefined();
      for (const place of from) expect(row).toContain(`\`${place}\``);
    }
  });
});

describe('a mapping reads only segments that it takes', () => {
  test.each(MESSAGES)('of %s', (_, { main, segments, elements, number }) => {
    const taken = ['MSH', ...segments];
    expect(taken).toContain(main);
    for (const place of [...number, ...elements.flatMap(({ from }) => from)])
      expect(taken, place).toContain(place.slice(0, 3));
  });
});

describe('what is left out on purpose', () => {
  test('is what docs/hl7v2.md says', () => {
    const section =
      page.split(/^## /m).find((part) => part.startsWith('Left out')) ?? '';
    const rows = section.matchAll(/^\| `(.+)` \| (.+) \|$/gm);
    expect([...rows].map(([, place, says]) => [place, says])).toEqual(
      Object.entries(FIELDS_LEFT_OUT),
    );
  });

  test.each([
    ['ORU^R01', 'OBR', 'OBX', 'SPM'],
    ['OMP^O09', 'ORC', 'RXO'],
    ['RDE^O11', 'ORC', 'RXE'],
  ])('is counted in %s', (type, ...names) => {
    const segments = names.map((name) =>
      [name, ...Array.from({ length: FIELDS }, () => 'xx')].join('|'),
    );
    const head = `MSH|^~\\&|A|B|C|D|20261120090000+0000||${type}|1|P|2.5.1`;
    const text = [head, 'PID|||R1^^^A^MR', ...segments].join('\r');
    const { unused } = readHl7(parseHl7(Buffer.from(text)), 'UTC');
    const leftOut = Object.keys(FIELDS_LEFT_OUT).filter((place) =>
      names.includes(place.slice(0, 3)),
    );
    expect(unused).toEqual(expect.arrayContaining(leftOut));
  });
});
