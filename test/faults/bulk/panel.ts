import { writeFile } from 'node:fs/promises';

export interface Panel {
  csvFile: string;
  rows: number;
  /** How many different people stand in it. */
  persons: number;
  /** How many of them have not opted out of queries. */
  toQuery: number;
}

/**
 * Each tenth row tells of somebody who came a good while before it, in another
 * chunk of the file.
 */
const REPEATED_EVERY = 10;
export const PANEL_HEADER =
  'externalId,firstName,lastName,dob,gender,addressLine1,city,state,zip,phone,email,hieOptOut';

/**
 * A file of made-up people for crash tests: some come twice with another phone,
 * one row in 97 is wrong, and all but the first `toQuery` of them have opted
 * out of queries. The same arguments give the same bytes.
 */
export async function writePanel(
  csvFile: string,
  {
    rows,
    toQuery,
    firstPerson = 0,
  }: { rows: number; toQuery: number; firstPerson?: number },
): Promise<Panel> {
  const lines = [PANEL_HEADER];
  const seen = new Set<number>();
  for (let row = 0; row < rows; row += 1) {
    const back = Math.floor(rows / 2) + 1;
    const person = row % REPEATED_EVERY === 9 && row >= back ? row - back : row;
    const isWrong = row % 97 === 13;
    if (!isWrong) seen.add(person);
    lines.push(
      panelLine(firstPerson + person, {
        phone: row,
        isWrong,
        optsOut: person >= toQuery,
      }),
    );
  }
  await writeFile(csvFile, `${lines.join('\n')}\n`);
  const asked = [...seen].filter((person) => person < toQuery).length;
  return { csvFile, rows, persons: seen.size, toQuery: asked };
}

/** A row of somebody; the same number is the same person. */
export function panelLine(
  person: number,
  {
    phone,
    isWrong = false,
    optsOut,
  }: { phone: number; isWrong?: boolean; optsOut: boolean },
): string {
  return [
    `crash-${person}`,
    'Pat',
    `Lee${letters(person)}`,
    isWrong
      ? '1980-13-45'
      : `19${30 + (person % 60)}-0${1 + (person % 9)}-1${person % 10}`,
    person % 2 === 0 ? 'F' : 'M',
    `"${1 + person} ""Old"" Mill Road, Rear"`,
    'Boston',
    'MA',
    '02108',
    `617555${String(phone % 10_000).padStart(4, '0')}`,
    `pat.${person}@example.org`,
    optsOut ? 'true' : '',
  ].join(',');
}

/** A number as letters: names take no digits for granted. */
const letters = (value: number): string =>
  [...String(value)]
    .map((digit) => String.fromCharCode(97 + Number(digit)))
    .join('');
