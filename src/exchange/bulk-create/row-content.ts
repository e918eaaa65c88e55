import { mergedContent, newContent, type PatientContent } from '../patients/rules/patient-content.ts';
import { type ListSizes, overfullList, sizesOf } from '../patients/rules/patient-room.ts';
import type { PreparedPerson, PreparedRow } from './prepare-chunk.ts';

/** Of a row what goes into its patient. */
type ContentRow = Pick<PreparedRow, 'facility'> & { person: PreparedPerson };

/** A person after these rows, merged in the order of the file; undefined without patient and rows. */
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
 * Judges whether a row still fits its person, after the rows that the person has already. Nearly always the sizes alone
 * show that it does; only when they do not are the rows merged. (A dry run does not know what the chunks before this one
 * would have added to a person who is no patient yet.)
 */
export function createRoomCheck(
  rows: readonly ContentRow[],
  patients: ReadonlyMap<string, PatientContent>,
  defaultFacilityId: string,
) {
  /** At most so long are the lists of a person by now. */
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
  facilityIds: sizes.facilityIds + 1,
});
