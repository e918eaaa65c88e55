import { createHmac } from 'node:crypto';
import type { Patient } from 'fhir/r4.js';
import {
  agreementWith,
  agreesElsewhere,
  describesExactly,
} from '#person-matching';
import type { SharingCandidate } from './candidate-store.ts';
import { isDay } from './inbound.ts';

export interface Match {
  accountId: string;
  patientId: string;
}

/**
 * Whether a description is sufficient for matching: a full name, a birth date
 * and a ZIP code.
 */
export function describesEnough(person: Patient): boolean {
  const hasName = (person.name ?? []).some(({ family, given, text }) =>
    Boolean((family && given?.length) || text),
  );
  return hasName && isDay(person.birthDate) && zipsOf(person).length > 0;
}

/** The five-digit ZIP codes of a person's addresses. */
export function zipsOf(person: Patient): string[] {
  const zips = (person.address ?? []).map(({ postalCode }) =>
    (postalCode ?? '').trim().slice(0, 5),
  );
  return [...new Set(zips.filter((zip) => /^\d{5}$/.test(zip)))];
}

/**
 * Finds the patient of each account that a message is about. A new match must
 * be certain without an error being assumed
 * (packages/person-matching); nothing that the message says may
 * contradict. A patient already notified of the subject stays matched while
 * name, birth date and gender agree, because people move, until another patient
 * appears of whom the message says more, such as the SSN or the street. Without
 * a description it always stays. If several patients of an account fit equally
 * well, none is matched, and `isAmbiguous` is true.
 */
export function matchPatients(
  candidates: readonly SharingCandidate[],
  person: Patient | undefined,
): { matches: Match[]; isAmbiguous: boolean } {
  const matches: Match[] = [];
  let isAmbiguous = false;
  for (const [accountId, ofAccount] of Map.groupBy(candidates, accountOf)) {
    const fitting = fittingOf(ofAccount, person);
    const staying = fitting.filter(({ isLinked }) => isLinked);
    const [only] = staying.length > 0 ? staying : fitting;
    if (only !== undefined && (staying.length > 0 || fitting.length === 1))
      matches.push({ accountId, patientId: only.id });
    else isAmbiguous ||= fitting.length > 1;
  }
  return { matches, isAmbiguous };
}

const accountOf = ({ accountId }: SharingCandidate): string => accountId;

/**
 * The patients whom a message describes best, among those whom it may be about.
 */
function fittingOf(
  candidates: readonly SharingCandidate[],
  person: Patient | undefined,
): SharingCandidate[] {
  if (person === undefined)
    return candidates.filter(({ isLinked }) => isLinked);
  const fitting = candidates
    .filter(
      (candidate) =>
        describesExactly(candidate, person, candidate.shared) ||
        (candidate.isLinked && agreesElsewhere(candidate, person)),
    )
    .map((candidate) => ({
      candidate,
      score: agreementWith(candidate, person),
    }));
  const most = Math.max(...fitting.map(({ score }) => score));
  return fitting
    .filter(({ score }) => score === most)
    .map(({ candidate }) => candidate);
}

/**
 * The keys under which messages about a person are found again; one for each
 * ZIP code. The person has a birth date.
 */
export const matchKeysOf = (person: Patient, hmacKey: string): Buffer[] =>
  zipsOf(person).map((zip) => matchKey(person.birthDate ?? '', zip, hmacKey));

/**
 * A keyed hash, because subjects are stored without demographics. @param zip
 * five digits, or what a patient's row has instead
 */
export const matchKey = (
  birthDate: string,
  zip: string,
  hmacKey: string,
): Buffer =>
  createHmac('sha256', hmacKey)
    .update(JSON.stringify(['inbound-match', birthDate, zip]))
    .digest();

/**
 * The keyed hash that stands for a sender's id in our tables: the id may be a
 * record number.
 *
 * @param kind of the subject, or `message` or `record`
 */
export const senderKey = (
  idHmacKey: string,
  sender: string,
  kind: string,
  id: string,
): Buffer =>
  createHmac('sha256', idHmacKey)
    .update(JSON.stringify(['inbound', sender, kind, id]))
    .digest();

/**
 * The key of a subject whose number the sender had used for somebody else's
 * subject, or for another specimen, `sourceKey` being that of the number
 * (docs/decisions/0165-identity-of-a-message.md).
 *
 * @param specimen when it was collected, if that is what differs
 */
export const reusedNumberKey = (
  idHmacKey: string,
  {
    sender,
    kind,
    sourceKey,
  }: { sender: string; kind: string; sourceKey: Buffer },
  recordKey: Buffer,
  specimen?: string,
): Buffer => {
  const person = `${sourceKey.toString('hex')} of ${recordKey.toString('hex')}`;
  const id = specimen === undefined ? person : `${person} at ${specimen}`;
  return senderKey(idHmacKey, sender, kind, id);
};

/**
 * The keys of the subjects that a number stands for under one record: first
 * that of `sourceKey`, then of each further person whom the sender has given
 * the record (docs/decisions/0284-a-record-changes-hands.md).
 */
export function keysOfPersons(
  idHmacKey: string,
  { sender, kind, sourceKey }: Parameters<typeof reusedNumberKey>[1],
): Buffer[] {
  const keys = [sourceKey];
  for (let person = 2; person <= PERSONS_OF_NUMBER_MAX; person += 1) {
    const id = `${sourceKey.toString('hex')} of person ${person}`;
    keys.push(senderKey(idHmacKey, sender, kind, id));
  }
  return keys;
}
const PERSONS_OF_NUMBER_MAX = 5;

/**
 * The keys that the number `sourceKey` may have for a subject with these events,
 * the most specific first.
 */
export function numberKeys(
  idHmacKey: string,
  numbered: { sender: string; kind: string; sourceKey: Buffer },
  events: readonly { recordKey: Buffer | null; content: object }[],
): Buffer[] {
  const keys = events.flatMap(({ recordKey, content }) => {
    if (recordKey === null) return [];
    const { specimen } = content as { specimen?: string };
    const ofPerson = reusedNumberKey(idHmacKey, numbered, recordKey);
    return specimen === undefined
      ? [ofPerson]
      : [reusedNumberKey(idHmacKey, numbered, recordKey, specimen), ofPerson];
  });
  return [...keys, numbered.sourceKey].flatMap((sourceKey) =>
    keysOfPersons(idHmacKey, { ...numbered, sourceKey }),
  );
}
