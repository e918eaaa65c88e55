/**
 * A person as your own system knows them. Everything but names, date of birth
 * and gender may be an empty list.
 */
export interface PersonDemographics {
  /** In order; further given names may be in the first one, or apart. */
  firstNames: readonly string[];
  /** With particles, and with `Sr`, `Jr` or the like, if you know it. */
  lastNames: readonly string[];
  /** YYYY-MM-DD */
  dob: string;
  /** Male, female, other or unknown, as registered at birth. */
  gender: 'M' | 'F' | 'O' | 'U';
  addresses: readonly PersonAddress[];
  contacts: ReadonlyArray<{ phone?: string; email?: string }>;
  personalIdentifiers: ReadonlyArray<{
    type: 'driversLicense' | 'ssn';
    value: string;
    /** Two letters, of a driver's licence. */
    state?: string;
  }>;
}

export interface PersonAddress {
  addressLine1: string;
  addressLine2?: string;
  city: string;
  /** Two letters. */
  state: string;
  /** Five or nine digits: `02115`, `02115-1234`. */
  zip: string;
}

/**
 * What matching reads of a FHIR Patient, which is the same in R4, R4B and R5.
 * A `Patient` of any library of types may be given.
 */
export interface FhirPatient {
  resourceType?: 'Patient';
  name?: ReadonlyArray<{
    given?: readonly string[];
    family?: string;
    suffix?: readonly string[];
    text?: string;
  }>;
  birthDate?: string;
  gender?: 'male' | 'female' | 'other' | 'unknown';
  address?: ReadonlyArray<{
    line?: readonly string[];
    city?: string;
    state?: string;
    postalCode?: string;
  }>;
  telecom?: ReadonlyArray<{ system?: string; value?: string }>;
  identifier?: ReadonlyArray<{
    system?: string;
    type?: { coding?: ReadonlyArray<{ code?: string }> };
    value?: string;
    assigner?: { display?: string };
  }>;
}
