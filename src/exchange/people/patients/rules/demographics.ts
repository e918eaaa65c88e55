import type {
  Address,
  Contact,
  Gender,
} from '../../../../contract/patients.ts';

/** `Address` is normalised: trimmed, state upper case, country USA. */
export type { Address, Contact, Gender };

export interface PersonalIdentifier {
  type: 'driversLicense' | 'ssn';
  value: string;
  state?: string;
  period?: { start?: string; end?: string };
  assigner?: string;
}

/** A person's demographics, as stored and as sent to the sources. */
export interface Demographics {
  firstNames: string[];
  lastNames: string[];
  /** YYYY-MM-DD */
  dob: string;
  gender: Gender;
  /** The first one is the primary address. */
  addresses: Address[];
  contacts: Contact[];
  personalIdentifiers: PersonalIdentifier[];
}
