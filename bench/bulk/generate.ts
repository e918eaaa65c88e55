/**
 * A small and fast random generator with the same sequence on every machine
 * (mulberry32).
 */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const FIRST =
  'Ann Bea Carla Dina Emma Fay Gina Hal Ivan José Karl Liam Mia Noah Olga Paul Quinn Rosa Sam Tom'.split(
    ' ',
  );
const LAST =
  'Adams Brown Clark Davis Evans Foster Garcia Hill Irwin Jones King López Moore Nash Ortiz Price'.split(
    ' ',
  );
const STREETS = [
  'Main Street',
  'Oak Avenue',
  'Elm Street',
  'Washington Blvd',
  'Park Place',
  '"Old" Mill Road',
];
const CITIES: [city: string, state: string, zip: number][] = [
  ['Boston', 'MA', 2108],
  ['Springfield', 'IL', 62701],
  ['San Juan', 'PR', 901],
  ['Reno', 'NV', 89501],
  ['Austin, Travis County', 'TX', 73301],
];

export interface GenerateOptions {
  rows: number;
  /**
   * The same seed gives the same file, another seed other patients. Default 1.
   */
  seed?: number;
}

/** Columns of a row: two addresses, two phones, two e-mail addresses. */
export const GENERATED_COLUMNS = [
  'externalId', 'firstName', 'lastName', 'dob', 'gender',
  'addressLine1-1', 'addressLine2-1', 'city-1', 'state-1', 'zip-1',
  'addressLine1-2', 'addressLine2-2', 'city-2', 'state-2', 'zip-2',
  'phone-1', 'phone-2', 'email-1', 'email-2', 'ssn',
]; // biome-ignore format: as they belong together

/**
 * Generates a CSV file of fictitious patients in blocks of some 64 KiB: all
 * rows valid, no patient twice, a few cells quoted.
 */
export function* generateCsv({
  rows,
  seed = 1,
}: GenerateOptions): Generator<Buffer> {
  const random = randomNumbers(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const digits = (count: number) =>
    String(random(10 ** count)).padStart(count, '0');
  let block = `${GENERATED_COLUMNS.join(',')}\r\n`;
  for (let row = 1; row <= rows; row += 1) {
    const first = pick(FIRST);
    const last = `${pick(LAST)}${letters(row)}`;
    const cells = [
      `ext-${seed}-${row}`, first, last,
      `${1930 + random(90)}-${String(1 + random(12)).padStart(2, '0')}-${String(1 + random(28)).padStart(2, '0')}`,
      pick(['M', 'F', 'F', 'M', 'O', 'U']),
      ...address(), ...address(),
      `617${digits(7)}`, `508${digits(7)}`,
      `${first.toLowerCase().replace('é', 'e')}.${row}@example.org`, `p${row}@mail.example.com`,
      digits(9),
    ]; // biome-ignore format: as the columns
    block += `${cells.map(quoted).join(',')}\r\n`;
    if (block.length < 64 * 1024) continue;
    yield Buffer.from(block);
    block = '';
  }
  yield Buffer.from(block);

  function address(): string[] {
    const [city, state, zip] = pick(CITIES);
    const line2 = random(3) === 0 ? `Apt ${random(90)}` : '';
    return [
      `${1 + random(9000)} ${pick(STREETS)}`,
      line2,
      city,
      state,
      String(zip + random(90)).padStart(5, '0'),
    ];
  }
}

/** A number as letters, so that no two rows have the same name. */
function letters(value: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 26))
    text += String.fromCharCode(97 + (rest % 26));
  return text;
}

const quoted = (cell: string): string =>
  /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
