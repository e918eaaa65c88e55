import type { PersonalIdentifier } from '../patients/rules/demographics.ts';
import { mergedContent, newContent, type PatientContent } from '../patients/rules/patient-content.ts';
import { areContradicting } from '../patients/rules/patient-matching.ts';
import { type ListSizes, overfullList, sizesOf } from '../patients/rules/patient-room.ts';
import type { PreparedPerson, PreparedRow } from './prepare-chunk.ts';

/** The part of a row that goes into its patient. */
type ContentRow = Pick<PreparedRow, 'facility'> & { person: PreparedPerson };

/** The patient's content after these rows, merged in file order; undefined without a patient and rows. */
export function contentAfter(
  patient: PatientContent | undefined,
  rows: readonly ContentRow[],
  defaultFacilityId: string,
): PatientContent | undefined {
  let content = patient;
  for (const { person, facility } of rows) {
    const facilityId = facility?.id ?? defaultFacilityId;
    content =
      content === undefined
        ? newContent(person.given, person.facts, facilityId)
        : mergedContent(content, person.given, person.facts, facilityId);
  }
  return content;
}

/**
 * Makes a check of whether a row is of another person than the one who holds its keys: another SSN or licence than the patient
 * and the rows that are taken for the person so far have; in a dry run also those of earlier chunks.
 */
export function createContradictionCheck(
  rows: readonly ContentRow[],
  patients: ReadonlyMap<string, PatientContent>,
  trial: ReadonlyMap<string, readonly PersonalIdentifier[]>,
) {
  return (person: { id: string; rows: readonly number[] }, place: number): boolean => {
    const given = rows[place]?.person.given;
    if (given === undefined || given.personalIdentifiers.length === 0) return false;
    const known = [
      ...(patients.get(person.id)?.personalIdentifiers ?? []),
      ...(trial.get(person.id) ?? []),
      ...person.rows.flatMap((before) => rows[before]?.person.given.personalIdentifiers ?? []),
    ];
    return areContradicting({ personalIdentifiers: known }, given);
  };
}

/**
 * Makes a check that returns why a row no longer fits its person (a list would exceed its limit), given the rows that the
 * person already has; undefined when it fits. Adding up the sizes usually proves that it fits; only otherwise are the rows
 * merged. A dry run does not know what earlier chunks would have added to a person who is not yet a patient.
 */
export function createRoomCheck(
  rows: readonly ContentRow[],
  patients: ReadonlyMap<string, PatientContent>,
  defaultFacilityId: string,
) {
  /** Upper bounds of the lengths of each person's lists so far. */
  const sizes = new Map<string, ListSizes>();
  return (person: { id: string; rows: readonly number[] }, place: number): string | undefined => {
    const row = rows[place];
    if (row === undefined) return undefined;
    const patient = patients.get(person.id);
    const most = addedSizes(sizes.get(person.id) ?? sizesOf(patient), row);
    if (overfullList(person.id, sizesOf(undefined), most) === undefined) {
      sizes.set(person.id, most);
      return undefined;
    }
    const taken = person.rows.flatMap((before) => rows[before] ?? []);
    const content = contentAfter(patient, taken, defaultFacilityId);
    const before = sizesOf(content);
    const after = sizesOf(contentAfter(content, [row], defaultFacilityId));
    const overfull = overfullList(person.id, before, after);
    sizes.set(person.id, overfull === undefined ? after : before);
    return overfull?.message;
  };
}

const addedSizes = (sizes: ListSizes, { person: { given } }: ContentRow): ListSizes => ({
  addresses: sizes.addresses + given.addresses.length,
  contacts: sizes.contacts + given.contacts.length,
  personalIdentifiers: sizes.personalIdentifiers + given.personalIdentifiers.length,
  // A file has no column for them.
  additionalIdentifiers: sizes.additionalIdentifiers,
  facilityIds: sizes.facilityIds + 1,
});
