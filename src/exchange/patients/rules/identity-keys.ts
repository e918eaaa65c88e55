import { createHmac } from 'node:crypto';
import type { Demographics } from './demographics.ts';
import { casefold } from './patient-normalisation.ts';

type Person = Pick<Demographics, 'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'>;

/** Position of the last four bytes of the hash, with which the zip is combined by XOR. */
const ZIP_AT_BYTE = 28;

/**
 * The keys by which a person is matched within an account (docs/interface.md, E5). Two records are the same person if they
 * share a key: the same first and last names (in order, ignoring case), date of birth, gender and at least one zip (its five
 * digits). Returns one key of 32 bytes per zip, sorted, so that concurrent writers lock them in the same order.
 *
 * A key is the HMAC of the person, so that the table of keys discloses nothing, with the zip combined into its last bytes. The
 * keys of one person are therefore adjacent in the index (docs/decisions/0016-one-hash-a-person.md).
 */
export const identityKeys = (hmacKey: string, accountId: string, person: Person): Buffer[] =>
  identityKeyTexts(hmacKey, accountId, person).map((key) => Buffer.from(key, 'latin1'));

/** The same keys as Latin-1 text: fast to compare and to look up. */
export function identityKeyTexts(hmacKey: string, accountId: string, person: Person): string[] {
  const parts = [person.firstNames.map(casefold), person.lastNames.map(casefold), person.dob, person.gender];
  const hash = createHmac('sha256', hmacKey)
    .update(JSON.stringify(['person', accountId, ...parts]))
    .digest();
  const mask = hash.readUInt32BE(ZIP_AT_BYTE);
  const endings: number[] = [];
  for (const { zip } of person.addresses) {
    const ending = (Number(zip.slice(0, 5)) ^ mask) >>> 0;
    const place = endings.findIndex((before) => before >= ending);
    if (place === -1) endings.push(ending);
    else if (endings[place] !== ending) endings.splice(place, 0, ending);
  }
  return endings.map((ending) => {
    hash.writeUInt32BE(ending, ZIP_AT_BYTE);
    return hash.toString('latin1');
  });
}
