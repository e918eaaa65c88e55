import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Address, HumanName, Patient } from 'fhir/r4.js';
import type { LabelledPair } from './labelled-pair.ts';
import { variedPairs } from './varied.ts';

export interface LabelledSet {
  name: string;
  pairs: LabelledPair[];
}

const ONC_RECORDS_MAX = 5_000;
const ONC_NEIGHBOURS = 20;
const ONC_VARIED_PEOPLE = 500;

type Row = Readonly<Record<string, string>>;

/**
 * Reads the labelled sets that are in a folder, whatever its structure, by the
 * names of their files. They are not part of this project; docs/matching.md
 * says where they are to be had.
 */
export async function readForeignSets(folder: string): Promise<LabelledSet[]> {
  const entries = await readdir(folder, {
    recursive: true,
    withFileTypes: true,
  });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const sets: LabelledSet[] = [];
  for (const file of files.sort()) {
    const read = READERS.find(({ pattern }) => pattern.test(basename(file)));
    if (read === undefined) continue;
    const pairs = read.pairs(await readFile(file, 'utf8'));
    if (pairs.length > 0) sets.push({ name: read.name(basename(file)), pairs });
  }
  return sets;
}

const READERS = [
  { pattern: /^MIIS-E3\.txt$/, name: () => 'MIIS', pairs: miisPairs },
  {
    pattern: /^test_data\.csv$/,
    name: () => 'dedupliFHIR',
    pairs: dedupliPairs,
  },
  {
    pattern: /^Patient Matching Data\.csv$/,
    name: () => 'Office Ally',
    pairs: officeAllyPairs,
  },
  {
    pattern: /^ONC Patient Matching.*\.csv$/,
    name: (file: string) => `ONC ${file.replace(/.*Dataset\.|\.csv/g, '')}`,
    pairs: oncPairs,
  },
  {
    pattern: /labeled_pairs\.jsonl$/,
    name: () => 'CMS',
    pairs: generatedPairs,
  },
];

/**
 * `TEST: S-1:ADDRESS_CHANGED:IDEAL-POOR`, `EXPECT: Match`, and one line of
 * `name=value` for each patient.
 */
function miisPairs(text: string): LabelledPair[] {
  const truths: Readonly<Record<string, LabelledPair['truth']>> = {
    Match: 'one',
    'Possible Match': 'unsure',
    'Not Sure': 'unsure',
    'Not a Match': 'two',
  };
  return text.split(/^TEST: /m).flatMap((block): LabelledPair[] => {
    const [title = '', ...lines] = block.split('\n').map((line) => line.trim());
    const after = (label: string) =>
      lines.find((line) => line.startsWith(label))?.slice(label.length);
    const expected = after('EXPECT: ');
    const left = after('PATIENT A: ');
    const right = after('PATIENT B: ');
    const truth = truths[expected ?? ''];
    if (truth === undefined || left === undefined || right === undefined)
      return [];
    return [
      {
        left: miisPatient(left),
        right: miisPatient(right),
        truth,
        kind: title.split(':')[1] ?? '',
      },
    ];
  });
}

function miisPatient(line: string): Patient {
  const row = Object.fromEntries(
    line.split(',').map((member) => member.split('=', 2) as [string, string]),
  );
  return patientOf(
    {
      first: [row.nameFirst, row.nameMiddle],
      last: row.nameLast,
      suffix: row.nameSuffix,
      birthDate: (row.birthDate ?? '').replace(
        /^(\d{4})(\d{2})(\d{2})$/,
        '$1-$2-$3',
      ),
      gender: row.gender,
      phones: [row.phone],
      ssn: row.ssn,
      addresses: [
        [
          row.addressStreet1,
          row.addressStreet2,
          row.addressCity,
          row.addressState,
          row.addressZip,
        ],
      ],
    },
    row.nameAlias ? [{ given: [row.nameAlias], family: row.nameLast }] : [],
  );
}

function dedupliPairs(text: string): LabelledPair[] {
  return allPairs(
    rowsOf(text).map((row) => ({
      person: row.truth_value ?? '',
      patient: patientOf({
        first: [row.given_name],
        last: row.family_name,
        birthDate: americanDate(row.birth_date),
        gender: row.gender,
        phones: [row.phone],
        ssn: row.SSN,
        addresses: [0, 1].map((at) => [
          row[`street_address${at}`],
          '',
          row[`city${at}`],
          row[`state${at}`],
          row[`postal_code${at}`]?.padStart(5, '0'),
        ]),
      }),
    })),
  );
}

function officeAllyPairs(text: string): LabelledPair[] {
  return allPairs(
    rowsOf(text).map((row) => ({
      person: row.GroupID ?? '',
      patient: patientOf(
        {
          first: [row['First Name'], row.MI],
          last: row['Last Name'],
          birthDate: americanDate(row['Date of Birth']),
          gender: row.Sex,
          addresses: ['Current', 'Previous'].map((which) => [
            row[`${which} Street 1`],
            row[`${which} Street 2`],
            row[`${which} City`],
            row[`${which} State`],
            (row[`${which} Zip Code`] ?? '').padStart(5, '0'),
          ]),
        },
        row['Previous Last Name']
          ? [
              {
                given: [row['Previous First Name'] || row['First Name'] || ''],
                family: row['Previous Last Name'],
              },
            ]
          : [],
      ),
    })),
  );
}

/**
 * Of the challenge's data only the records are public, not which of them are
 * one person: neighbours are compared as they are, and copies with errors are
 * made of some (varied.ts).
 */
function oncPairs(text: string): LabelledPair[] {
  const patients = rowsOf(text)
    .slice(0, ONC_RECORDS_MAX)
    .map((row) =>
      patientOf(
        {
          first: [row.FIRST, row.MIDDLE],
          last: row.LAST,
          suffix: row.SUFFIX,
          birthDate: spreadsheetDate(row.DOB),
          gender: row.GENDER,
          phones: [row.PHONE, row.PHONE2],
          emails: [row.EMAIL],
          ssn: row.SSN,
          addresses: [
            [row.ADDRESS1, row.ADDRESS2, row.CITY, row.STATE, row.ZIP],
          ],
        },
        row.MOTHERS_MAIDEN_NAME
          ? [{ given: [row.FIRST ?? ''], family: row.MOTHERS_MAIDEN_NAME }]
          : [],
      ),
    );
  const neighbours = patients.flatMap((left, index) =>
    patients.slice(index + 1, index + 1 + ONC_NEIGHBOURS).map((right) => ({
      left,
      right,
      truth: 'unsure' as const,
      kind: 'unlabelled',
    })),
  );
  return [...neighbours, ...variedPairs(patients, ONC_VARIED_PEOPLE)];
}

/**
 * The CMS pilot's own pairs: a line of JSON each, with both Patients and
 * whether they are one person.
 */
function generatedPairs(text: string): LabelledPair[] {
  return text.split('\n').flatMap((line): LabelledPair[] => {
    if (line.trim() === '') return [];
    const { source, target, expected_match, rationale } = JSON.parse(line) as {
      source: Patient;
      target: Patient;
      expected_match: boolean;
      rationale: string;
    };
    return [
      {
        left: source,
        right: target,
        truth: expected_match ? 'one' : 'two',
        kind: rationale.replace(/ \(.*/, ''),
      },
    ];
  });
}

interface Fields {
  first: Array<string | undefined>;
  last?: string;
  suffix?: string;
  birthDate: string;
  gender?: string;
  phones?: Array<string | undefined>;
  emails?: Array<string | undefined>;
  ssn?: string;
  /** Line 1, line 2, city, state, zip. */
  addresses: ReadonlyArray<ReadonlyArray<string | undefined>>;
}

function patientOf(fields: Fields, aliases: HumanName[] = []): Patient {
  const present = (values: ReadonlyArray<string | undefined> = []) =>
    values.filter((value): value is string => Boolean(value));
  const gender = ({ m: 'male', f: 'female' } as const)[
    (fields.gender ?? '').slice(0, 1).toLowerCase()
  ];
  return {
    resourceType: 'Patient',
    name: [
      {
        given: present(fields.first),
        ...(fields.last ? { family: fields.last } : {}),
        suffix: present([fields.suffix]),
      },
      ...aliases,
    ],
    birthDate: fields.birthDate,
    ...(gender === undefined ? {} : { gender }),
    telecom: [
      ...present(fields.phones).map((value) => ({
        system: 'phone' as const,
        value,
      })),
      ...present(fields.emails).map((value) => ({
        system: 'email' as const,
        value,
      })),
    ],
    identifier: present([fields.ssn]).map((value) => ({
      system: 'http://hl7.org/fhir/sid/us-ssn',
      value,
    })),
    address: fields.addresses
      .filter(([line1, , , , zip]) => Boolean(line1) || /[1-9]/.test(zip ?? ''))
      .map(
        ([line1 = '', line2 = '', city, state, zip]): Address => ({
          line: present([line1, line2]),
          city,
          state,
          postalCode: zip,
        }),
      ),
  };
}

function allPairs(
  records: ReadonlyArray<{ person: string; patient: Patient }>,
): LabelledPair[] {
  return records.flatMap((left, index) =>
    records.slice(index + 1).map((right) => ({
      left: left.patient,
      right: right.patient,
      truth: left.person === right.person ? ('one' as const) : ('two' as const),
      kind: '',
    })),
  );
}

const rowsOf = (text: string): Row[] =>
  parse(text, { columns: true, bom: true, relax_column_count: true }) as Row[];

/** 9/20/1945 */
const americanDate = (date = ''): string => {
  const [month = '', day = '', year = ''] = date.split('/');
  return year === ''
    ? ''
    : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
};

/** Days since the end of 1899, as spreadsheets count. */
const spreadsheetDate = (days = ''): string =>
  /^\d+$/.test(days)
    ? new Date(Date.UTC(1899, 11, 30) + Number(days) * 86_400_000)
        .toISOString()
        .slice(0, 10)
    : '';
