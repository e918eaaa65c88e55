import type { CodeableConcept } from 'fhir/r4.js';

/** LOINC codes of vital signs. */
export const VITAL_SIGN_CODES: ReadonlySet<string | undefined> = new Set([
  // Heart rate, breaths.
  '8867-4',
  '9279-1',
  // Temperature.
  '8310-5',
  '8331-1',
  '8332-9',
  '8328-7',
  // Oxygen saturation.
  '59408-5',
  '2708-6',
  // Height, weight, body mass index.
  '8302-2',
  '8306-3',
  '8308-9',
  '29463-7',
  '3141-9',
  '39156-5',
  // Blood pressure.
  '85354-9',
  '55284-4',
  '8480-6',
  '8462-4',
]);

export const isVitalSign = ({ coding = [] }: CodeableConcept): boolean =>
  coding.some(({ code }) => VITAL_SIGN_CODES.has(code));
