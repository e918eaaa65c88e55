import { sql } from 'kysely';
import {
  contradictedIdentifiers,
  type PersonTraits,
  traitsOfPatient,
  traitsOfPerson,
} from '#person-matching';
import { type Json, objectsOf, textOf } from '#record-summary/fhir';
import { splitNames } from '../../../contract/primitives.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { findNamesakes } from '../../people/patients/patient-store.ts';
import type {
  Demographics,
  Gender,
} from '../../people/patients/rules/demographics.ts';
import { identityKeys } from '../../people/patients/rules/identity-keys.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { readDescription } from '../../sources/connectors/patient/choose-candidates.ts';
import { identifiedByOne, LICENSE, SSN } from './patient-identifiers.ts';

/** What a description must have, so that a patient can be found by it. */
export type NeededTrait = 'name' | 'birthDate' | 'gender' | 'zip';

/** Who is described. */
export type Identification =
  /** Too little is said; whether there is such a patient is not looked up. */
  | { missing: NeededTrait[] }
  /** Everybody who may be meant: only a single one is a match. */
  | { holders: string[] };

/**
 * Who of an account's patients a FHIR Patient describes, by the rule of "Match
 * patient": same names, date of birth, gender and a zip in common, no
 * identifier that contradicts, and nobody else who fits or has one of the
 * identifiers. In doubt no patient is a match.
 */
export function identifyPatient(
  deps: { finder: Pick<Store, 'asAccount'>; idHmacKey: string },
  accountId: string,
  patient: Json,
): Promise<Identification> {
  return deps.finder.asAccount(accountId, (tx) =>
    identifyPatientIn(tx, deps.idHmacKey, patient),
  );
}

/** The same within a transaction. */
export async function identifyPatientIn(
  tx: AccountTx,
  idHmacKey: string,
  patient: Json,
): Promise<Identification> {
  const { persons, missing } = describedPersons(patient);
  const [person] = persons;
  if (missing.length > 0 || person === undefined) return { missing };
  const keys = persons.flatMap((each) =>
    identityKeys(idHmacKey, tx.accountId, each),
  );
  const described = traitsOfPatient(
    readDescription(patient) ?? { resourceType: 'Patient' },
  );
  const namesakes = await findNamesakes(tx, idHmacKey, person, keys);
  const found = namesakes
    .filter(
      (each) =>
        contradictedIdentifiers(traitsOfPerson(each), described).length === 0,
    )
    .map(({ id }) => id);
  if (found.length === 0) return { holders: [] };
  const others = await holdersOf(tx, described);
  return { holders: [...new Set([...found, ...others])] };
}

export const GENDERS_OF_FHIR: Readonly<Record<string, Gender>> = lookupTable({
  male: 'M',
  female: 'F',
  other: 'O',
  unknown: 'U',
});

/** Who has one of these identifiers. */
async function holdersOf(
  tx: AccountTx,
  { ssns, licences }: PersonTraits,
): Promise<string[]> {
  const identifiers = [
    ...[...ssns].map((value) => ({ system: SSN, value })),
    ...[...licences.keys()].map((value) => ({ system: LICENSE, value })),
  ];
  const rows = await tx.db
    .selectFrom('patient')
    .select('id')
    .where('account_id', '=', tx.accountId)
    .where(sql<boolean>`${identifiedByOne(identifiers)}`)
    .limit(2)
    .execute();
  return rows.map(({ id }) => id);
}

type DescribedPerson = Pick<
  Demographics,
  'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'
>;

/**
 * The persons that a Patient may be, one for each of its names; and what is
 * missing for our rule, which needs first and last name, date of birth, gender
 * and a zip.
 */
function describedPersons(patient: Json): {
  persons: DescribedPerson[];
  missing: NeededTrait[];
} {
  const dob = textOf(patient.birthDate);
  const gender = GENDERS_OF_FHIR[textOf(patient.gender) ?? ''];
  const zips = objectsOf(patient.address).flatMap(({ postalCode }) =>
    /^\d{5}(-?\d{4})?$/.test(textOf(postalCode) ?? '')
      ? [String(postalCode)]
      : [],
  );
  const names = objectsOf(patient.name)
    .map(({ family, given }) => ({
      lastNames: splitNames(textOf(family) ?? ''),
      firstNames: (Array.isArray(given) ? (given as unknown[]) : []).flatMap(
        (each) => splitNames(textOf(each) ?? ''),
      ),
    }))
    .filter(
      ({ firstNames, lastNames }) =>
        firstNames.length > 0 && lastNames.length > 0,
    )
    .slice(0, NAMES_MAX);
  const missing: NeededTrait[] = [];
  if (names.length === 0) missing.push('name');
  if (!/^\d{4}-\d{2}-\d{2}$/.test(dob ?? '')) missing.push('birthDate');
  if (gender === undefined) missing.push('gender');
  if (zips.length === 0) missing.push('zip');
  if (missing.length > 0 || dob === undefined || gender === undefined)
    return { persons: [], missing };
  const addresses = zips.slice(0, ZIPS_MAX).map((zip) => ({
    addressLine1: '',
    city: '',
    state: '',
    zip,
    country: 'USA',
  }));
  return {
    persons: names.map((name) => ({ ...name, dob, gender, addresses })),
    missing: [],
  };
}

const NAMES_MAX = 10;
const ZIPS_MAX = 20;
