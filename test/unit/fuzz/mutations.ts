import fc from 'fast-check';
import { anyCharacter } from '../../support/property.ts';

/**
 * One change of a sample. Places and lengths are fractions, so that they fit
 * any size and shrink to 0.
 */
export type Mutation =
  | { kind: 'byte'; at: number; value: number }
  | { kind: 'cut'; at: number; length: number }
  | { kind: 'end'; at: number }
  | { kind: 'repeat'; at: number; length: number; times: number }
  | { kind: 'insert'; at: number; text: string }
  | { kind: 'flood'; at: number; text: string; share: number }
  | { kind: 'json'; at: number; value: unknown };

/**
 * Repetitions stop here: callers bound the size of what they pass to a reader,
 * most of them at 1 MB.
 */
const BYTES_MAX = 1_000_000;

const fraction = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
/**
 * Most faults of readers need a short piece: a line, an element, a separator.
 */
const length = fc.oneof(
  fraction.map((part) => part / 500),
  fraction.map((part) => part / 10),
);

const TEXTS = [
  '~a',
  '~~',
  '&a',
  '^a',
  '\rOBX|1',
  '\rPID|~',
  '<a>',
  '<a b="c">',
  '<entry>',
  '{"a":',
  '[[',
  '"a",',
  '|',
  '^',
  '~',
  '\\',
  '&',
  '\r',
  '\n',
  '\r\n',
  'MSH|',
  'PID|',
  '\\X00\\',
  '\\.br\\',
  '""',
  ',',
  '"',
  '""',
  '\ufeff',
  '=cmd()',
  'addressLine1-9',
  '<',
  '>',
  '</',
  '/>',
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '&amp;',
  '&#0;',
  '&#xD800;',
  '<!DOCTYPE a>',
  '<a b="',
  ' nullFlavor="UNK"',
  ' negationInd="true"',
  ' xsi:type="PQ"',
  ' value="20269999"',
  '<entry/>',
  '<section>',
  '{',
  '}',
  '[',
  ']',
  ':',
  '\\u0000',
  '\\ud800',
  '1e999',
  '-',
  'null',
  '{"__proto__":{}}',
  '\u0000',
  '\ud83d',
  '\u202e',
  'é',
  '99999999999999999999',
  '2026-02-30',
  '0000-00-00T25:61',
];

const hostileJson = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1e308,
    '',
    ' ',
    [],
    {},
    [[]],
    [null],
    [{}],
    { a: [] },
  ),
  fc.constantFrom<unknown>(
    '2026',
    '2026-13-45',
    '9999-12-31T23:59:60Z',
    'Patient/',
    'urn:uuid:',
    '#',
    'http://[',
  ),
  fc.constantFrom<unknown>(
    'x'.repeat(5_000),
    '\u0000',
    '\ud800',
    '<script>',
    '__proto__',
    'constructor',
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

const text = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
);
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({
    kind: fc.constant('byte' as const),
    at: fraction,
    value: fc.nat(255),
  }),
  fc.record({ kind: fc.constant('cut' as const), at: fraction, length }),
  fc.record({ kind: fc.constant('end' as const), at: fraction }),
  fc.record({
    kind: fc.constant('repeat' as const),
    at: fraction,
    length,
    times: fc.oneof(fc.nat(3), fc.nat(20_000)),
  }),
  fc.record({ kind: fc.constant('insert' as const), at: fraction, text }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('flood' as const),
      at: fraction,
      text,
      share: fraction,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('json' as const),
      at: fraction,
      value: hostileJson,
    }),
  },
);

export const mutations = fc.array(mutation, { minLength: 1, maxLength: 8 });

export function mutate(sample: Buffer, changes: readonly Mutation[]): Buffer {
  return changes.reduce(applied, sample);
}

function applied(bytes: Buffer, change: Mutation): Buffer {
  if (bytes.length === 0) return bytes;
  const at = Math.floor(change.at * bytes.length);
  switch (change.kind) {
    case 'byte': {
      const changed = Buffer.from(bytes);
      changed.fill(change.value, at, at + 1);
      return changed;
    }
    case 'cut':
      return Buffer.concat([
        bytes.subarray(0, at),
        bytes.subarray(at + 1 + Math.floor(change.length * bytes.length)),
      ]);
    case 'end':
      return bytes.subarray(0, at);
    case 'repeat': {
      const piece = bytes.subarray(
        at,
        at + 1 + Math.floor(change.length * bytes.length),
      );
      const times = Math.max(
        0,
        Math.min(
          change.times,
          Math.floor((BYTES_MAX - bytes.length) / piece.length),
        ),
      );
      return Buffer.concat([
        bytes.subarray(0, at),
        ...Array<Buffer>(times).fill(piece),
        bytes.subarray(at),
      ]);
    }
    case 'insert':
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(change.text),
        bytes.subarray(at),
      ]);
    case 'flood': {
      const piece = Buffer.from(change.text);
      const room = Math.max(0, BYTES_MAX - bytes.length) * change.share;
      const times = piece.length === 0 ? 0 : Math.floor(room / piece.length);
      return Buffer.concat([
        bytes.subarray(0, at),
        ...Array<Buffer>(times).fill(piece),
        bytes.subarray(at),
      ]);
    }
    case 'json':
      return withValue(bytes, change.at, change.value);
  }
}

/**
 * Replaces one value of a JSON text, so that it stays readable; other bytes are
 * left as they are.
 */
function withValue(bytes: Buffer, at: number, value: unknown): Buffer {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    return bytes;
  }
  const places: (() => void)[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const fields = node as Record<string, unknown>;
    for (const key of Object.keys(fields)) {
      places.push(() => {
        fields[key] = value;
      });
      visit(fields[key]);
    }
  };
  visit(json);
  places[Math.floor(at * places.length)]?.();
  return Buffer.from(JSON.stringify(json));
}
