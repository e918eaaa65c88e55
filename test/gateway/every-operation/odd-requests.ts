import type { Sent } from './operation-cases.ts';

/** What no caller means, and some send. */
const ODD: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  true,
  [],
  {},
  [[]],
  [null],
  { '': {} },
  { toString: 1 },
  '\u0000',
  '\u202e\u0301',
  '\u{1f4a5}'.repeat(200),
  'a'.repeat(20_000),
  '0000-01-01',
  '9999-12-31',
  '9999-12-31T23:59:59.999999999Z',
  '-271821-04-20T00:00:00Z',
  '%00',
  "'; drop table patient; --",
  '../../etc/passwd',
  '<script>alert(1)</script>',
  1e308,
  Number.MAX_SAFE_INTEGER,
  0.1,
  'NaN',
  '1e9',
  '٣',
];
/**
 * Odd values for each place, fewer where a request has many places; the next
 * place gets the next ones.
 */
const EACH_MAX = 4;
const REQUESTS_MAX = 80;

/**
 * The request with something odd in each place of its body, parameters and
 * headers, one at a time.
 */
export function oddRequests(
  sent: Sent,
  parameters: readonly string[],
  start: number,
): Sent[] {
  const { body, query = {} } = sent;
  const places = placesOf(body);
  const each = Math.floor(REQUESTS_MAX / (parameters.length + places.length));
  const length = Math.min(Math.max(each, 1), EACH_MAX);
  let next = start;
  const odd = (): unknown[] =>
    Array.from({ length }, () => ODD[next++ % ODD.length]);
  const text = (value: unknown) =>
    typeof value === 'string' ? value : JSON.stringify(value);
  return [
    ...parameters.flatMap((name) =>
      odd().map((value) => ({
        ...sent,
        query: { ...query, [name]: text(value) },
      })),
    ),
    ...places.flatMap((place) =>
      odd().map((value) => ({ ...sent, body: put(body, place, value) })),
    ),
  ];
}

type Place = readonly (string | number)[];

/** Every member of a JSON value, down to the third level, itself first. */
function placesOf(value: unknown, depth = 3): Place[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, child]) => [
    [key],
    ...(depth > 1
      ? placesOf(child, depth - 1).map((place) => [key, ...place])
      : []),
  ]);
}

function put(value: unknown, [key, ...rest]: Place, odd: unknown): unknown {
  if (key === undefined) return odd;
  if (Array.isArray(value))
    return value.map((item, index) =>
      String(index) === key ? put(item, rest, odd) : item,
    );
  const record = value as Record<string, unknown>;
  return { ...record, [key]: put(record[key], rest, odd) };
}
