import { splitNames } from '../../../../contract/primitives.ts';
import type { Demographics, Gender } from '../../../people/patients/rules/demographics.ts';
import { isJson, type Json, objectsOf, textOf } from '../../../records/rules/json.ts';

export type MatchPerson = Pick<Demographics, 'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'>;

const GENDERS: Readonly<Record<string, Gender>> = { male: 'M', female: 'F', other: 'O', unknown: 'U' };

/**
 * The persons that the Patient in the Parameters of `$match` may be, one for each of its names; and what is missing for our
 * rule, which needs first and last name, date of birth, gender and a zip.
 */
export function matchInput(parameters: unknown): { persons: MatchPerson[]; missing: string[] } {
  const patient = patientIn(parameters);
  if (patient === undefined) return { persons: [], missing: ['a parameter "resource" with a Patient'] };
  const dob = textOf(patient.birthDate);
  const gender = GENDERS[textOf(patient.gender) ?? ''];
  const zips = objectsOf(patient.address).flatMap(({ postalCode }) =>
    /^\d{5}(-?\d{4})?$/.test(textOf(postalCode) ?? '') ? [String(postalCode)] : [],
  );
  const names = objectsOf(patient.name)
    .map(({ family, given }) => ({
      lastNames: splitNames(textOf(family) ?? ''),
      firstNames: (Array.isArray(given) ? (given as unknown[]) : []).flatMap((each) =>
        splitNames(textOf(each) ?? ''),
      ),
    }))
    .filter(({ firstNames, lastNames }) => firstNames.length > 0 && lastNames.length > 0)
    .slice(0, NAMES_MAX);
  const missing = [
    names.length === 0 && 'name with family and given',
    !/^\d{4}-\d{2}-\d{2}$/.test(dob ?? '') && 'birthDate (a full date)',
    gender === undefined && 'gender',
    zips.length === 0 && 'address.postalCode (5 digits, or ZIP+4)',
  ].filter((each) => each !== false);
  if (missing.length > 0 || dob === undefined || gender === undefined) return { persons: [], missing };
  const addresses = zips
    .slice(0, ZIPS_MAX)
    .map((zip) => ({ addressLine1: '', city: '', state: '', zip, country: 'USA' }));
  return { persons: names.map((name) => ({ ...name, dob, gender, addresses })), missing: [] };
}

const NAMES_MAX = 10;
const ZIPS_MAX = 20;

/** Accepts Parameters, or the Patient itself. */
export function patientIn(body: unknown): Json | undefined {
  if (!isJson(body)) return undefined;
  if (body.resourceType === 'Patient') return body;
  const resource = objectsOf(body.parameter).find(({ name }) => name === 'resource')?.resource;
  return isJson(resource) && resource.resourceType === 'Patient' ? resource : undefined;
}
