import type { Patient } from 'fhir/r4.js';

/**
 * What a message says of its person's death, as a Patient of the record with
 * nothing else than that and its labels; undefined if the message says nothing.
 */
export function statedDeath(person: Patient): Patient | undefined {
  const { deceasedDateTime, deceasedBoolean, meta } = person;
  if (deceasedDateTime === undefined && deceasedBoolean === undefined)
    return undefined;

  const security = meta?.security;
  return {
    resourceType: 'Patient',
    id: 'person',
    ...(security !== undefined && { meta: { security } }),
    ...(deceasedDateTime === undefined
      ? { deceasedBoolean }
      : { deceasedDateTime }),
  };
}
