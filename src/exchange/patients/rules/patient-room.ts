import { PATIENT_LISTS_MAX } from '../../../contract/bounds.ts';
import type { PatientContent } from './patient-content.ts';

/** What a match unites, and so lets grow. */
export type PatientLists = Pick<
  PatientContent,
  'addresses' | 'contacts' | 'personalIdentifiers' | 'facilityIds'
>;
export type ListSizes = Record<keyof PatientLists, number>;

const LISTS: Readonly<Record<keyof PatientLists, { member: keyof typeof PATIENT_LISTS_MAX; what: string }>> =
  {
    addresses: { member: 'address', what: 'addresses' },
    contacts: { member: 'contact', what: 'contacts' },
    personalIdentifiers: { member: 'personalIdentifiers', what: 'personal identifiers' },
    facilityIds: { member: 'facilityIds', what: 'facilities' },
  };
const LIST_NAMES = Object.keys(LISTS) as (keyof PatientLists)[];

const NOTHING: ListSizes = { addresses: 0, contacts: 0, personalIdentifiers: 0, facilityIds: 0 };

export const sizesOf = (lists: PatientLists | undefined): ListSizes =>
  lists === undefined
    ? NOTHING
    : {
        addresses: lists.addresses.length,
        contacts: lists.contacts.length,
        personalIdentifiers: lists.personalIdentifiers.length,
        facilityIds: lists.facilityIds.length,
      };

/**
 * The list that a change would make longer than a patient may have it. None is dropped for another: which address still
 * counts is for the caller to say. A list that was too long before may stay as it is, or get shorter.
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
  const message = `patient ${patientId} would have ${after[list]} ${what}, and a patient has at most ${PATIENT_LISTS_MAX[member]}; update the patient with those that still count`;
  return { path: member, message };
}
