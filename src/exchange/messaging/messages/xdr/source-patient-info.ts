import { writeHl7Date } from '#ihe';
import type {
  Demographics,
  Gender,
} from '../../../people/patients/rules/demographics.ts';

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
