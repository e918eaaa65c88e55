import { createHmac } from 'node:crypto';
import {
  identifiersOf,
  isStandInName,
  isUsableBirthDate,
  isUsableZip,
} from '#person-matching';
import type { Demographics } from './demographics.ts';
import { casefold } from './patient-normalisation.ts';

type Person = Pick<
  Demographics,
  'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'
> & {
  /** The caller's own id. */
  externalId?: string | null;
  /**
   * The file and the row in which the person came, by which a newborn without
   * an id is known when the same file is sent again.
   */
  sentAs?: readonly string[];
};

/**
 * Position of the last four bytes of the hash, with which the zip is combined
 * by XOR.
 */
const ZIP_AT_BYTE = 28;

/**
 * The keys by which a person is matched within an account (docs/interface.md,
 * E5). Two records are the same person if they share a key: the same first and
 * last names (in order, ignoring case), date of birth, gender and at least one
 * zip (its five digits). Returns one key of 32 bytes per zip, sorted, so that
 * concurrent writers lock them in the same order.
 *
 * A key is the HMAC of the person, so that the table of keys discloses nothing,
 * with the zip combined into its last bytes. The keys of one person are
 * therefore adjacent in the index (docs/decisions/0016-one-hash-per-person.md).
 */
export const identityKeys = (
  hmacKey: string,
  accountId: string,
  person: Person,
): Buffer[] =>
  identityKeyTexts(hmacKey, accountId, person).map((key) =>
    Buffer.from(key, 'latin1'),
  );

/**
 * The same keys as Latin-1 text: fast to compare and to look up.
 *
 * A name of a newborn or an unknown person ("Baby Boy", "John Doe"), the birth
 * date 1900-01-01 and the zips 00000 and 99999 stand for many people. Whoever
 * has one of these is the same only under the same id of the caller
 * (`externalId`), or as the same row of the same file; without either there are
 * no keys, so nothing matches.
 * (docs/decisions/0151-contradicting-patients-stay-apart.md)
 */
export function identityKeyTexts(
  hmacKey: string,
  accountId: string,
  person: Person,
): string[] {
  const { firstNames, lastNames, dob, addresses, externalId, sentAs } = person;
  const zips = addresses.map(({ zip }) => zip.slice(0, 5));
  const isAnybody =
    !isUsableBirthDate(dob) || isStandInName(firstNames, lastNames, dob);
  const usable = isAnybody ? [] : zips.filter(isUsableZip);
  const keys = keyTexts(hmacKey, accountId, person, usable, []);
  const known = externalId ? ['externalId', externalId] : sentAs;
  if (usable.length === zips.length || known === undefined) return keys;
  const others = isAnybody ? zips : zips.filter((zip) => !isUsableZip(zip));
  return [
    ...keys,
    ...keyTexts(hmacKey, accountId, person, others, known),
  ].sort();
}

/**
 * The keys of a person who has another SSN or driver's licence than the one who
 * holds the keys above: of each identifier, and of all together, which no other
 * patient has. None without an identifier.
 */
export function ownKeyTexts(
  hmacKey: string,
  accountId: string,
  person: Person & Pick<Demographics, 'personalIdentifiers'>,
): string[] {
  const { ssns, licences } = identifiersOf(person.personalIdentifiers);
  const bySsn = [...ssns].sort().map((ssn) => ['ssn', ssn]);
  const byLicence = [...licences.keys()]
    .sort()
    .map((licence) => ['driversLicense', licence]);
  const each = [...bySsn, ...byLicence];
  const zips = person.addresses.map(({ zip }) => zip.slice(0, 5));
  const owns = each.length > 1 ? [...each, each.flat()] : each;
  return owns.flatMap((own) => keyTexts(hmacKey, accountId, person, zips, own));
}

export const ownKeys = (...of: Parameters<typeof ownKeyTexts>): Buffer[] =>
  ownKeyTexts(...of).map((key) => Buffer.from(key, 'latin1'));

/**
 * One key per zip and spelling of the names. @param more what else the keys
 * depend on
 */
function keyTexts(
  hmacKey: string,
  accountId: string,
  person: Person,
  zips: readonly string[],
  more: readonly string[],
): string[] {
  if (zips.length === 0) return [];
  const keys = spellingsOf(person).flatMap((names) =>
    keysOfSpelling(
      hmacKey,
      ['person', accountId, ...names, person.dob, person.gender, ...more],
      zips,
    ),
  );
  return keys.length > zips.length ? keys.sort() : keys;
}

const APOSTROPHES = /[\u2018\u2019\u02BC\u00B4`]/g;

/**
 * The first and last names as they are compared: with one kind of apostrophe,
 * and as they are written if that is another, by which patients of an earlier
 * build are known.
 */
function spellingsOf({ firstNames, lastNames }: Person): string[][][] {
  const written = [firstNames.map(casefold), lastNames.map(casefold)];
  const plain = written.map((names) =>
    names.map((name) => name.replaceAll(APOSTROPHES, "'")),
  );
  return JSON.stringify(plain) === JSON.stringify(written)
    ? [written]
    : [plain, written];
}

function keysOfSpelling(
  hmacKey: string,
  parts: readonly unknown[],
  zips: readonly string[],
): string[] {
  const hash = createHmac('sha256', hmacKey)
    .update(JSON.stringify(parts))
    .digest();
  const mask = hash.readUInt32BE(ZIP_AT_BYTE);
  const endings: number[] = [];
  for (const zip of zips) {
    const ending = (Number(zip) ^ mask) >>> 0;
    const place = endings.findIndex((before) => before >= ending);
    if (place === -1) endings.push(ending);
    else if (endings[place] !== ending) endings.splice(place, 0, ending);
  }
  return endings.map((ending) => {
    hash.writeUInt32BE(ending, ZIP_AT_BYTE);
    return hash.toString('latin1');
  });
}
