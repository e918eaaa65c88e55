import { PATIENT_LISTS_MAX } from '../../../../contract/bounds.ts';
import { mostIdsAtOneSystem } from './additional-identifiers.ts';
import type { PatientContent } from './patient-content.ts';

/** The lists of a patient that grow when a match adds values. */
export type PatientLists = Pick<
  PatientContent,
  'addresses' | 'contacts' | 'personalIdentifiers' | 'additionalIdentifiers' | 'facilityIds'
>;
export type ListSizes = Record<keyof PatientLists, number>;

const LISTS: Readonly<Record<keyof PatientLists, { member: keyof typeof PATIENT_LISTS_MAX; what: string }>> =
  {
    addresses: { member: 'address', what: 'addresses' },
    contacts: { member: 'contact', what: 'contacts' },
    personalIdentifiers: { member: 'personalIdentifiers', what: 'personal identifiers' },
    additionalIdentifiers: { member: 'additionalIdentifiers', what: 'additional identifiers of one system' },
    facilityIds: { member: 'facilityIds', what: 'facilities' },
  };
const LIST_NAMES = Object.keys(LISTS) as (keyof PatientLists)[];

const NOTHING: ListSizes = {
  addresses: 0,
  contacts: 0,
  personalIdentifiers: 0,
  additionalIdentifiers: 0,
  facilityIds: 0,
};

export const sizesOf = (lists: PatientLists | undefined): ListSizes =>
  lists === undefined
    ? NOTHING
    : {
        addresses: lists.addresses.length,
        contacts: lists.contacts.length,
        personalIdentifiers: lists.personalIdentifiers.length,
        additionalIdentifiers: mostIdsAtOneSystem(lists.additionalIdentifiers),
        facilityIds: lists.facilityIds.length,
      };

/**
 * Returns an error for the first list that a change would make too long, undefined if there is none. Entries are never dropped
 * to make room, because only the caller knows which are still valid. A list that was already too long may keep its length or
 * become shorter.
 */
export function overfullList(
  patientId: string,
  before: ListSizes,
  after: ListSizes,
): { path: string; message: string } | undefined {
  const list = LIST_NAMES.find(
    (name) => after[name] > PATIENT_LISTS_MAX[LISTS[name].member] && after[name] > before[name],
  );
  if (list === undefined) return undefined;
  const { member, what } = LISTS[list];
  const message = `patient ${patientId} would have ${after[list]} ${what}, but at most ${PATIENT_LISTS_MAX[member]} are allowed; update the patient with those that are still valid`;
  return { path: member, message };
}
