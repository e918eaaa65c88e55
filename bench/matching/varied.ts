import type { HumanName, Patient } from 'fhir/r4.js';
import { NICKNAMES } from '#person-matching';
import type { LabelledPair } from './labelled-pair.ts';

/**
 * Pairs made of unlabelled records, in the way of the CMS pilot's generator
 * (restated in our own words; its pairs are made of the same records): one
 * person is a record and a changed copy of it, two people are two records that
 * have much in common. The generator's own pairs, if you have them, are read as
 * `*labeled_pairs.jsonl`.
 */
export function variedPairs(
  patients: readonly Patient[],
  people: number,
): LabelledPair[] {
  const random = randomOf(1);
  const chosen = patients.slice(0, people);
  return [
    ...chosen.flatMap((patient, index) =>
      copies(patient, chosen[index + 1] ?? patient, random),
    ),
    ...strangers(patients),
    ...residents(chosen),
  ];
}

type Random = (below: number) => number;
type Change = (patient: Patient, random: Random) => Patient;

/** The same numbers at each run. */
function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** One error of a clerk each, by what it changes. */
const ERRORS: Readonly<Record<string, Readonly<Record<string, Change>>>> = {
  birthDate: {
    'birth date: up to three days off': (patient, random) =>
      withDate(patient, (date) =>
        date.setUTCDate(
          date.getUTCDate() + ([-3, -2, -1, 1, 2, 3][random(6)] ?? 1),
        ),
      ),
    'birth date: up to two months off': (patient, random) =>
      withDate(patient, (date) =>
        date.setUTCMonth(
          (date.getUTCMonth() + 12 + ([-2, -1, 1, 2][random(4)] ?? 1)) % 12,
        ),
      ),
    'birth date: up to two years off': (patient, random) =>
      withDate(patient, (date) =>
        date.setUTCFullYear(
          date.getUTCFullYear() + ([-2, -1, 1, 2][random(4)] ?? 1),
        ),
      ),
    'birth date: day and month exchanged': (patient) => {
      const [year = '', month = '', day = ''] = (patient.birthDate ?? '').split(
        '-',
      );
      return Number(day) <= 12 && year !== ''
        ? { ...patient, birthDate: `${year}-${day}-${month}` }
        : patient;
    },
    'birth date: a digit': (patient, random) => {
      const digits = [...(patient.birthDate ?? '').replaceAll('-', '')];
      digits[random(8)] = String(random(10));
      const date = digits.join('').replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
      return Number.isNaN(Date.parse(date))
        ? patient
        : { ...patient, birthDate: date };
    },
  },
  family: {
    'last name: a letter': (patient, random) =>
      withName(patient, (name) => ({
        ...name,
        family: edited(name.family ?? '', random),
      })),
    'last name: letters exchanged': (patient, random) =>
      withName(patient, (name) => ({
        ...name,
        family: exchanged(name.family ?? '', random),
      })),
    'last name: a fifth of the letters left out': (patient, random) =>
      withName(patient, (name) => {
        const letters = [...(name.family ?? '')];
        if (letters.length < 3) return name;
        for (
          let left = Math.max(1, Math.floor(letters.length / 5));
          left > 0;
          left -= 1
        )
          letters.splice(random(letters.length), 1);
        return { ...name, family: letters.join('') };
      }),
  },
  given: {
    'first name: a nickname': (patient, random) =>
      withFirst(patient, (first) => nicknameOf(first, random)),
    'first name: an initial': (patient) =>
      withFirst(patient, (first) => `${first.slice(0, 1)}.`),
  },
};

function copies(
  patient: Patient,
  next: Patient,
  random: Random,
): LabelledPair[] {
  const pair = (kind: string, copy: Patient): LabelledPair[] =>
    JSON.stringify(copy) === JSON.stringify(patient)
      ? []
      : [{ left: patient, right: copy, truth: 'one', kind }];
  const error = (of: string): [string, Change] => {
    const all = Object.entries(ERRORS[of] ?? {});
    return all[random(all.length)] ?? ['', (same) => same];
  };
  const fields = Object.keys(ERRORS);
  const [kind, change] = error(fields[random(3)] ?? '');
  const left = random(3);
  const two = fields.filter((_, index) => index !== left).map(error);
  const phones = (patient.telecom ?? []).filter(
    ({ system }) => system === 'phone',
  );
  const alias = patient.name?.[1];
  return [
    ...pair(kind, change(patient, random)),
    ...pair(
      'an accent',
      withFirst(patient, (first) =>
        first.replace(/[aeiou]/i, (letter) => `${letter}\u0301`),
      ),
    ),
    ...pair(
      'punctuation',
      withName(patient, ({ family = '', ...name }) => ({
        ...name,
        family: `${family.slice(0, 2)}${['-', "'", '.'][random(3)]}${family.slice(2)}`,
      })),
    ),
    ...pair(
      `two errors: ${two.map(([name]) => name.split(':')[0]).join(', ')}`,
      two.reduce((changed, [, each]) => each(changed, random), patient),
    ),
    ...pair('without SSN', { ...patient, identifier: [] }),
    ...pair(
      alias === undefined ? 'moved' : 'moved, with another last name',
      withName({ ...patient, address: next.address ?? [] }, (name) => ({
        ...name,
        family: alias?.family ?? name.family,
      })),
    ),
    ...(phones.length < 2
      ? []
      : pair('the other phone', {
          ...patient,
          telecom: (patient.telecom ?? []).filter((each) => each !== phones[0]),
        })),
  ];
}

/**
 * Different records that have much in common: born on one day in one zip, or of
 * one last name and zip.
 */
function strangers(patients: readonly Patient[]): LabelledPair[] {
  const zipOf = ({ address }: Patient) => address?.[0]?.postalCode ?? '';
  const familyOf = ({ name }: Patient) =>
    name?.[0]?.family?.toUpperCase() ?? '';
  const grouped = (keyOf: (patient: Patient) => string): Patient[][] => {
    const groups = new Map<string, Patient[]>();
    for (const patient of patients) {
      if (zipOf(patient) === '' || !patient.birthDate) continue;
      groups.set(keyOf(patient), [
        ...(groups.get(keyOf(patient)) ?? []),
        patient,
      ]);
    }
    return [...groups.values()];
  };
  const two = (
    kind: string,
    groups: Patient[][],
    isTwo: (left: Patient, right: Patient) => boolean,
  ) =>
    groups.flatMap((group) =>
      group.flatMap((left, index) =>
        group
          .slice(index + 1)
          .filter((right) => isTwo(left, right))
          .map((right) => ({ left, right, truth: 'two' as const, kind })),
      ),
    );
  const years = (left: Patient, right: Patient) =>
    Math.abs(
      Number(left.birthDate?.slice(0, 4)) -
        Number(right.birthDate?.slice(0, 4)),
    );
  const byFamily = grouped(
    (patient) => `${zipOf(patient)} ${familyOf(patient)}`,
  );
  return [
    ...two(
      'born on one day in one zip',
      grouped((patient) => `${zipOf(patient)} ${patient.birthDate}`),
      (left, right) => familyOf(left) !== familyOf(right),
    ),
    ...two(
      'generations of one name and zip',
      byFamily,
      (left, right) => years(left, right) >= 15,
    ),
    ...two(
      'siblings of one name and zip',
      byFamily,
      (left, right) =>
        years(left, right) <= 3 && left.birthDate !== right.birthDate,
    ),
  ];
}

/** Neighbouring records at one address, phone, and made-up SSN. */
function residents(patients: readonly Patient[]): LabelledPair[] {
  const shelter = (patient: Patient): Patient => ({
    ...patient,
    address: [
      {
        line: ['100 Shelter Way'],
        city: 'Boston',
        state: 'MA',
        postalCode: '02115',
      },
    ],
    telecom: [{ system: 'phone', value: '617-555-0100' }],
    identifier: [
      { system: 'http://hl7.org/fhir/sid/us-ssn', value: '999-99-9999' },
    ],
  });
  return patients.slice(1).map((right, index) => ({
    left: shelter(patients[index] ?? right),
    right: shelter(right),
    truth: 'two' as const,
    kind: 'one shelter, phone and made-up SSN',
  }));
}

function withName(
  patient: Patient,
  change: (name: HumanName) => HumanName,
): Patient {
  const [first, ...others] = patient.name ?? [];
  return first === undefined
    ? patient
    : { ...patient, name: [change(first), ...others] };
}

const withFirst = (
  patient: Patient,
  change: (first: string) => string,
): Patient =>
  withName(patient, (name) => {
    const [first, ...rest] = name.given ?? [];
    return first ? { ...name, given: [change(first), ...rest] } : name;
  });

function withDate(patient: Patient, change: (date: Date) => void): Patient {
  if (!patient.birthDate) return patient;
  const date = new Date(`${patient.birthDate}T00:00:00Z`);
  change(date);
  return Number.isNaN(date.getTime())
    ? patient
    : { ...patient, birthDate: date.toISOString().slice(0, 10) };
}

function edited(name: string, random: Random): string {
  if (name.length < 3) return name;
  const at = random(name.length);
  const letter = String.fromCharCode(65 + random(26));
  return (
    name.slice(0, at) +
    ['', letter, letter + name[at]][random(3)] +
    name.slice(at + 1)
  );
}

function exchanged(name: string, random: Random): string {
  if (name.length < 2) return name;
  const at = random(name.length - 1);
  return name.slice(0, at) + name[at + 1] + name[at] + name.slice(at + 2);
}

function nicknameOf(name: string, random: Random): string {
  const names =
    NICKNAMES.find((each) => each.includes(name.toLowerCase())) ?? [];
  return names[random(names.length)]?.toUpperCase() ?? name;
}
