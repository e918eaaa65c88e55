import type { Address, HumanName, Patient } from 'fhir/r4.js';
import type { Hl7Segment } from './message.ts';
import { parseHl7Date } from './time.ts';

const GENDERS: Readonly<Record<string, Patient['gender']>> = {
  F: 'female',
  M: 'male',
  O: 'other',
  A: 'other',
};

/** The person that a PID segment describes, reduced to what the matching rule uses. */
export function personOf(pid: Hl7Segment): Patient {
  return {
    resourceType: 'Patient',
    name: pid.repetitions(5).map(nameOf),
    birthDate: parseHl7Date(pid.value(7)),
    gender: GENDERS[pid.value(8)?.toUpperCase() ?? ''],
    address: pid.repetitions(11).flatMap(addressOf),
  };
}

type Reader = ReturnType<Hl7Segment['repetitions']>[number];

function nameOf(read: Reader): HumanName {
  const given = [read(2), read(3)].filter((name) => name !== undefined);
  return { family: read(1), ...(given.length > 0 ? { given } : {}) };
}

function addressOf(read: Reader): Address[] {
  // BA: the sender marked the address as bad.
  if (read(7) === 'BA') return [];
  const line = [read(1), read(2)].filter((text) => text !== undefined);
  return [{ line, city: read(3), state: read(4), postalCode: read(5), country: read(6) }];
}
