import type { Patient } from 'fhir/r4.js';
import { traitsOfPatient } from '#person-matching';
import type { SystemTx } from '../../platform/database/database.ts';
import {
  personsUnderRecord,
  readSubject,
  type StoredSubject,
} from './inbound-store.ts';
import { senderKey } from './match.ts';
import { type PersonOfMessage, personOfSubject } from './person-of-subject.ts';

/**
 * Whom a message describes, as keyed hashes of the first name, the birth date
 * and the gender; empty for what it does not say. Subjects are stored without
 * demographics.
 */
export type PersonKeys = readonly Buffer[];

export function personKeysOf(
  person: Patient,
  sender: string,
  idHmacKey: string,
): Buffer[] {
  const { names, birthDate, gender } = traitsOfPatient(person);
  const [name] = names;
  const isNamed =
    name !== undefined && !name.isGivenStandIn && !name.isFamilyStandIn;
  const said = {
    'first-name': isNamed ? name.given[0] : undefined,
    'birth-date': birthDate,
    gender,
  };
  return Object.entries(said).map(([kind, value]) =>
    value === undefined
      ? Buffer.alloc(0)
      : senderKey(idHmacKey, sender, kind, value),
  );
}

/**
 * Whether first name, birth date and gender are all other ones: a person who is
 * described anew keeps one of them. (docs/decisions/0284-a-record-changes-hands.md)
 */
export const isAnotherPerson = (ours: PersonKeys, theirs: PersonKeys) =>
  ours.length > 0 &&
  ours.every((key, at) => {
    const other = theirs[at];
    const isSaid = key.length > 0 && other !== undefined && other.length > 0;
    return isSaid && !key.equals(other);
  });

interface PersonDeps {
  personOfMessage: PersonOfMessage;
  idHmacKey: string;
}

/** Whom a subject is about; empty if its messages do not say. */
export async function personOf(
  tx: SystemTx,
  subject: StoredSubject,
  { personOfMessage, idHmacKey }: PersonDeps,
): Promise<PersonKeys> {
  if (subject.personKeys !== null) return subject.personKeys;
  const { person } = await personOfSubject(tx, subject, personOfMessage);
  return person === undefined
    ? []
    : personKeysOf(person, subject.sender, idHmacKey);
}

/** Whether a record is known, and always as somebody else's. */
export async function isRecordOfAnother(
  tx: SystemTx,
  of: { sender: string; recordKey: Buffer },
  described: PersonKeys,
  deps: PersonDeps,
): Promise<boolean> {
  if (described.some((key) => key.length === 0)) return false;
  const persons: PersonKeys[] = [];
  for (const { id, personKeys } of await personsUnderRecord(tx, of))
    persons.push(
      personKeys ?? (await personOf(tx, await readSubject(tx, id), deps)),
    );
  return (
    persons.length > 0 &&
    persons.every((person) => isAnotherPerson(person, described))
  );
}
