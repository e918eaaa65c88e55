/** US postal address, normalised: trimmed, state upper case, country USA. */
export interface Address {
  addressLine1: string;
  addressLine2?: string;
  city: string;
  state: string;
  /** 5 digits or ZIP+4. */
  zip: string;
  country: string;
}

export interface Contact {
  /** 10 digits, no separators. */
  phone?: string;
  email?: string;
}

export interface PersonalIdentifier {
  type: 'driversLicense' | 'ssn';
  value: string;
  state?: string;
  period?: { start?: string; end?: string };
  assigner?: string;
}

export type Gender = 'M' | 'F' | 'O' | 'U';

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
