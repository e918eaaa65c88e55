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

/** Who a person is, as the exchange knows it and asks the sources with it. */
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
