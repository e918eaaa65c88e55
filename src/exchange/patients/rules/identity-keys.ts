import { createHmac } from 'node:crypto';
import type { Demographics } from './demographics.ts';
import { casefold } from './patient-normalisation.ts';

type Person = Pick<Demographics, 'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'>;

/** The last bytes of the person's hash: they hide the zip. */
const ZIP_AT_BYTE = 28;

/**
 * By what a person is recognised in an account. The matching rule of E5: two records are the same person when they share
 * a key, that is the same first and last names (in order, whatever their case), date of birth, gender and at least one
 * zip (its five digits). 32 bytes each; sorted, so that writers take them in one order.
 *
 * One keyed hash a person, so that a table of keys tells nothing about anyone; each zip is folded into its end. The
 * keys of one person stand next to each other in an index (docs/decisions/0016-one-hash-a-person.md).
 */
export function identityKeys(hmacKey: string, accountId: string, person: Person): Buffer[] {
  const parts = [person.firstNames.map(casefold), person.lastNames.map(casefold), person.dob, person.gender];
  const hash = createHmac('sha256', hmacKey)
    .update(JSON.stringify(['person', accountId, ...parts]))
    .digest();
  const mask = hash.readUInt32BE(ZIP_AT_BYTE);
  const zips = new Set(person.addresses.map(({ zip }) => Number(zip.slice(0, 5))));
  const endings = [...zips].map((zip) => (zip ^ mask) >>> 0).sort((left, right) => left - right);
  return endings.map((ending) => {
    const key = Buffer.from(hash);
    key.writeUInt32BE(ending, ZIP_AT_BYTE);
    return key;
  });
}
