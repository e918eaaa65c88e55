import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDirectoryResource } from '../../../../src/exchange/sources/directory/rules/read-resource.ts';
import {
  createSplitter,
  type SplitItem,
} from '../../../../src/exchange/sources/directory/rules/split-resources.ts';
import {
  madeBundle,
  madeEndpoint,
  madeOrganization,
  oidOf,
} from '../../../support/directory-entries.ts';
import { property } from '../../../support/property.ts';

/** Splits a file that arrives in pieces of this size. */
function split(file: string | Buffer, pieceBytes = 65_536) {
  const splitter = createSplitter();
  const bytes = Buffer.from(file);
  const items: SplitItem[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    items.push(...splitter.push(bytes.subarray(at, at + pieceBytes)));
  items.push(...splitter.end());
  return { items, isCut: splitter.isCut };
}

/** What becomes of each item: the id of an entry, else the kind of its end. */
const read = (file: string | Buffer, pieceBytes?: number) =>
  split(file, pieceBytes).items.map((item) => {
    if ('fault' in item) return `refused: ${item.fault}`;
    const resource = readDirectoryResource(item.text);
    switch (resource.kind) {
      case 'entry':
        return resource.entry.id;
      case 'refused':
        return `refused: ${resource.reason}`;
      default:
        return resource.kind;
    }
  });

/** What a directory may have in the place of a clean organization. */
const DIRT = {
  clean: (number: number) => madeOrganization({ number, parent: number + 1 }),
  repeated: () => madeOrganization({ number: 1 }),
  'npi of nine digits': (number: number) =>
    madeOrganization({ number, npi: '123456789' }),
  'zip as a number': (number: number) => ({
    ...madeOrganization({ number }),
    address: [{ state: 'MA', postalCode: 2108 }],
  }),
  'text with brackets': (number: number) =>
    madeOrganization({ number, name: 'A "brace" } ] , \\ and \u2028 more {' }),
  'members of other types': (number: number) => ({
    resourceType: 'Organization',
    id: oidOf(number),
    name: 7,
    identifier: 'none',
    partOf: [null],
    endpoint: { reference: 1 },
    address: 'here',
    contained: [null, 'x'],
  }),
  endpoint: (number: number) =>
    madeEndpoint('XCPD ITI-55', 'https://gateway.example', number),
  patient: () => ({ resourceType: 'Patient', id: 'p' }),
  'no resource': () => ({ id: 'x' }),
  'no id': () => ({ resourceType: 'Organization', name: 'Nameless' }),
} as const;
type Dirt = keyof typeof DIRT;

const made = fc
  .array(fc.constantFrom(...(Object.keys(DIRT) as Dirt[])), {
    minLength: 1,
    maxLength: 12,
  })
  .map((kinds) => kinds.map((kind, index) => DIRT[kind](index + 1)));

/** Ways to deliver the same resources. */
const FORMS = {
  lines: (resources: object[]) =>
    resources.map((each) => JSON.stringify(each)).join('\n'),
  'lines of CRLF with empty ones and a mark': (resources: object[]) =>
    `\uFEFF${resources.map((each) => `${JSON.stringify(each)}\r\n\r\n`).join(' \r\n')}`,
  bundle: (resources: object[]) => JSON.stringify(madeBundle(resources)),
  'indented bundle with a mark': (resources: object[]) =>
    `\uFEFF${JSON.stringify(madeBundle(resources), undefined, 2)}\r\n`,
  list: (resources: object[]) => JSON.stringify(resources, undefined, '\t'),
  'a bundle a line': (resources: object[]) =>
    resources.map((each) => JSON.stringify(madeBundle([each]))).join('\n'),
  'lines and bundles': (resources: object[]) =>
    resources
      .map((each, index) =>
        JSON.stringify(index % 2 === 0 ? each : madeBundle([each, each])),
      )
      .join('\n'),
} as const;

describe('a directory’s file', () => {
  property([
    made,
    fc.constantFrom(...(Object.keys(FORMS) as (keyof typeof FORMS)[])),
    fc.integer({ min: 1, max: 5_000 }),
  ])(
    'has each of its resources read once, in whatever form and pieces it comes',
    (resources, form, pieceBytes) => {
      const delivered =
        form === 'lines and bundles'
          ? resources.flatMap((each, index) =>
              index % 2 === 0 ? [each] : [each, each],
            )
          : resources;
      const alone = delivered.flatMap((each) => read(JSON.stringify([each])));
      expect(alone).toHaveLength(delivered.length);
      expect(read(FORMS[form](resources), pieceBytes)).toEqual(alone);
    },
  );

  test('whose first line is broken loses that line only', () => {
    const lines = [1, 2, 3].map((number) =>
      JSON.stringify(madeOrganization({ number })),
    );
    expect(read(['{"resourceType":"Organ', ...lines].join('\n'))).toEqual([
      'refused: is no JSON object',
      ...[1, 2, 3].map(oidOf),
    ]);
  });

  test('with a line that is too large refuses that line, and reads a large Bundle', () => {
    const huge = JSON.stringify(
      madeOrganization({ number: 1, name: 'x'.repeat(2_000_000) }),
    );
    const many = Array.from({ length: 2_000 }, (_, index) =>
      madeOrganization({ number: index + 10 }),
    );
    const bundle = JSON.stringify(madeBundle(many));
    expect(bundle.length).toBeGreaterThan(1_000_000);
    const last = JSON.stringify(madeOrganization({ number: 2 }));
    const ends = read([last, huge, bundle, last].join('\n'));
    expect(ends.slice(0, 3)).toEqual([
      oidOf(2),
      'refused: is larger than 1 MB',
      oidOf(10),
    ]);
    expect(ends).toHaveLength(2_003);
  });

  test.each(['lines', 'bundle', 'list', 'a bundle a line'] as const)(
    'of %s that breaks off is known to, wherever it does',
    (form) => {
      const file = Buffer.from(
        FORMS[form]([1, 2].map((number) => madeOrganization({ number }))),
      );
      const whole = split(file);
      expect(whole.isCut).toBe(false);
      expect(whole.items).toHaveLength(2);
      for (let bytes = 1; bytes < file.length; bytes += 1) {
        const cut = split(file.subarray(0, bytes));
        const isBetweenLines = file[bytes] === 0x0a || file[bytes - 1] === 0x0a;
        if (!isBetweenLines) expect([bytes, cut.isCut]).toEqual([bytes, true]);
      }
    },
  );

  test('with a Bundle within a Bundle says that it is not read', () => {
    const inner = madeBundle([madeOrganization({ number: 1 })]);
    expect(read(JSON.stringify(madeBundle([inner])))).toEqual([
      'refused: is a Bundle within another resource, whose entries are not read',
    ]);
  });
});
