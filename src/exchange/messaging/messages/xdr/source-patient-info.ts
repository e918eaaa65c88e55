import {
  birthDateOfHl7,
  type PersonNameParts,
  readCx,
  writeHl7Date,
} from '#ihe';
import type { Json } from '#record-summary/fhir';
import type {
  Demographics,
  Gender,
} from '../../../people/patients/rules/demographics.ts';
import { FHIR_GENDERS } from '../../../records/rules/fold-patient.ts';
import { patientOfFacts } from '../../../sources/connectors/ihe/discovery/community-patient.ts';

/** HL7 v2's administrative sex (table 0001). */
const SEXES = {
  M: 'M',
  F: 'F',
  O: 'O',
  U: 'U',
} as const satisfies Record<Gender, string>;

/**
 * A patient as the fields of PID that a submission's `sourcePatientInfo` has
 * (ITI TF-3, 4.2.3.2.23). The SSN is left out.
 *
 * @param patientId CX
 */
export function sourcePatientInfo(
  { firstNames, lastNames, dob, gender, addresses }: Demographics,
  patientId: string,
): string[] {
  const [given = '', ...others] = firstNames;
  const name = [lastNames.join(' '), given, others.join(' ')].map(escaped);
  const [address] = addresses;

  return [
    `PID-3|${patientId}`,
    `PID-5|${withoutTail(name.join('^'))}`,
    `PID-7|${writeHl7Date(dob)}`,
    `PID-8|${SEXES[gender]}`,
    ...(address === undefined ? [] : [`PID-11|${addressField(address)}`]),
  ];
}

function addressField(address: Demographics['addresses'][number]): string {
  const { addressLine1, addressLine2 = '', city, state, zip } = address;
  const parts = [addressLine1, addressLine2, city, state, zip, address.country];

  return parts.map(escaped).join('^');
}

const ESCAPES = new Map([
  ['\\', '\\E\\'],
  ['^', '\\S\\'],
  ['&', '\\T\\'],
  ['~', '\\R\\'],
  ['|', '\\F\\'],
]);

const escaped = (text: string): string =>
  text.replace(/[\\^&~|]/g, (letter) => ESCAPES.get(letter) ?? letter);

const withoutTail = (field: string): string => field.replace(/\^+$/, '');

/**
 * Whom a submission's `sourcePatientInfo` describes, as a FHIR Patient; undefined
 * if it says nothing.
 */
export function readSourcePatientInfo(
  lines: readonly string[],
): Json | undefined {
  const fields = lines.map((line) => /^(PID-\d+)\|(.*)$/s.exec(line.trim()));
  const repetitionsOf = (name: string): string[][] =>
    fields
      .filter((field) => field?.[1] === name)
      .flatMap((field) => (field?.[2] ?? '').split('~'))
      .filter((text) => text !== '')
      .map((text) => text.split('^'));
  const [[birthTime] = []] = repetitionsOf('PID-7');
  const [[sex = ''] = []] = repetitionsOf('PID-8');
  const names = repetitionsOf('PID-5').map(nameOf);
  if (names.length === 0 && birthTime === undefined) return undefined;

  return {
    resourceType: 'Patient',
    ...patientOfFacts({
      names,
      gender: undefined,
      birthTime: undefined,
      addresses: repetitionsOf('PID-11').map(addressOf),
      telecoms: [],
      otherIds: repetitionsOf('PID-3').map((parts) => {
        const { id, authority } = readCx(parts.join('^'));
        return { root: authority, extension: id };
      }),
    }),
    gender: isSex(sex) ? FHIR_GENDERS[sex] : undefined,
    birthDate: birthTime === undefined ? undefined : birthDateOfHl7(birthTime),
  };
}

const isSex = (text: string): text is Gender => Object.hasOwn(SEXES, text);

/** XPN: family^given^further given^suffix^prefix. The suffix is part of the family name (E4). */
function nameOf(parts: readonly string[]): PersonNameParts {
  const [family = '', given = '', further = '', suffix = ''] =
    parts.map(unescaped);

  return {
    family: [family, suffix].filter((part) => part !== ''),
    given: [given, further].filter((part) => part !== ''),
    prefix: [],
    suffix: [],
  };
}

/** XAD: street^other^city^state^zip. */
function addressOf(parts: readonly string[]) {
  const [street, other, city, state, zip] = parts.map(
    (part) => unescaped(part) || undefined,
  );

  return {
    lines: [street, other].filter((line) => line !== undefined),
    city,
    state,
    zip,
    country: undefined,
  };
}

const LETTERS = new Map(
  [...ESCAPES].map(([letter, written]) => [written, letter]),
);

/** The first subcomponent, as it was meant. */
const unescaped = (part: string): string =>
  (part.split('&')[0] ?? '')
    .replace(/\\[ESTRF]\\/g, (written) => LETTERS.get(written) ?? '')
    .trim();
