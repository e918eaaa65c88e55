import { createHmac } from 'node:crypto';
import type { Patient } from 'fhir/r4.js';
import { zipsOf } from './match.ts';

/** The keys under which messages about a person are found again; one for each ZIP code. The person has a birth date. */
export const matchKeysOf = (person: Patient, hmacKey: string): Buffer[] =>
  zipsOf(person).map((zip) => matchKey(person.birthDate ?? '', zip, hmacKey));

/** A keyed hash, because subjects are stored without demographics. @param zip five digits, or what a patient's row has instead */
export const matchKey = (birthDate: string, zip: string, hmacKey: string): Buffer =>
  createHmac('sha256', hmacKey)
    .update(JSON.stringify(['inbound-match', birthDate, zip]))
    .digest();
