import { createHmac } from 'node:crypto';
import type { Demographics } from './demographics.ts';
import { casefold } from './patient-normalisation.ts';

type Person = Pick<Demographics, 'firstNames' | 'lastNames' | 'dob' | 'gender'>;

/**
 * The matching rule of E5 as keys: two records are the same person when they share a key, that is the same first
 * and last names (in order, whatever their case), date of birth, gender and at least one zip (its five digits).
 * Keyed hashes, so that the table tells nothing about anyone; sorted, so that writers lock them in one order.
 */
export function identityKeys(
  hmacKey: string,
  accountId: string,
  person: Person & Pick<Demographics, 'addresses'>,
): Buffer[] {
  const zips = new Set(person.addresses.map(({ zip }) => zip.slice(0, 5)));
  return [...zips]
    .map((zip) => keyedHash(hmacKey, ['identity', accountId, ...personParts(person), zip]))
    .sort(Buffer.compare);
}

/** What all keys of one person have in common, as a number for an advisory lock. */
export function personLockId(hmacKey: string, accountId: string, person: Person): bigint {
  return keyedHash(hmacKey, ['person-lock', accountId, ...personParts(person)]).readBigInt64BE(0);
}

function personParts(person: Person): unknown[] {
  return [person.firstNames.map(casefold), person.lastNames.map(casefold), person.dob, person.gender];
}

function keyedHash(hmacKey: string, parts: unknown[]): Buffer {
  return createHmac('sha256', hmacKey).update(JSON.stringify(parts)).digest();
}
