import { nameWords } from './name-words.ts';

/*
 * Names and values that say nothing about who a person is: names given to
 * newborns until they have one, names of people who are unknown, and values
 * that are entered because a form demands something. (docs/matching.md)
 */

/**
 * A word of a first name by which a hospital names a newborn: "Baby Boy",
 * "BabyGirl A", "Girl1", "Marias Boy", "Mariasgirl1", "BB", "RN" (recién
 * nacido), "Twin B". Jimboy, Babylyn and Marygirl are names of adults.
 */
const NEWBORN_WORD =
  /^(baby(boy|girl)?[a-d\d]?|bb|bg|nb[bfgm]?|rn|newborn.*|neonate|infant|twin[ab12]?|triplet|(.*s)?(boy|girl)\d?)$/;

/** "First name unknown", "last name unknown", and the like. */
const UNKNOWN_WORDS: ReadonlySet<string> = new Set([
  'unknown',
  'unk',
  'unkn',
  'unnamed',
  'noname',
  'anonymous',
  'anon',
  'unidentified',
  'fnu',
  'lnu',
  'nfn',
  'nln',
  'nmn',
  'undefined',
  'notgiven',
  'notknown',
  'test',
  'testpatient',
  'tbd',
  'trauma',
]);
const UNKNOWN_PHRASES: ReadonlySet<string> = new Set([
  'noname',
  'notgiven',
  'notknown',
  'nofirstname',
  'nolastname',
]);

/** Somebody unknown is John or Jane Doe; other people have this last name. */
const ANYBODY: ReadonlySet<string> = new Set([
  'john',
  'jane',
  'jon',
  'johnny',
  'janie',
  'baby',
  'jack',
  'richard',
]);
const SEX: ReadonlySet<string> = new Set(['male', 'female']);
const FILLER = /^([a-z])\1{2,}$|^([xz])\2+$|^(xxx|zz).*$/;

const isUnknown = (list: readonly string[]): boolean =>
  list.some((word) => UNKNOWN_WORDS.has(word) || FILLER.test(word)) ||
  UNKNOWN_PHRASES.has(list.slice(0, 2).join(''));

/** Whether the words of a first name only stand in for one. */
export const isStandInGiven = (given: readonly string[]): boolean =>
  isUnknown(given) ||
  given.some((word) => NEWBORN_WORD.test(word)) ||
  SEX.has(given[0] ?? '');

export const isStandInFamily = (
  family: readonly string[],
  given: readonly string[],
): boolean =>
  isUnknown(family) ||
  (family.join('') === 'doe' && ANYBODY.has(given[0] ?? ''));

/** @param firstNames, lastNames as stored, each of one or more words */
export function isStandInName(
  firstNames: readonly string[],
  lastNames: readonly string[],
): boolean {
  const given = firstNames.flatMap(nameWords);
  const family = lastNames.flatMap(nameWords);
  return isStandInGiven(given) || isStandInFamily(family, given);
}

const REPEATED = /^(.)\1*$/;
const COUNTING = '01234567890123456789';
const isCounted = (digits: string): boolean =>
  COUNTING.includes(digits) ||
  COUNTING.includes([...digits].reverse().join(''));

/** Whether digits are one digit repeated, or counted up or down. */
const isFiller = (digits: string): boolean =>
  REPEATED.test(digits) || isCounted(digits);

/** SSNs printed in advertisements, which people have used as their own. */
const PRINTED_SSNS: ReadonlySet<string> = new Set([
  '078051120',
  '219099999',
  '457555462',
  '111223333',
  '123121234',
]);

/**
 * Whether a text may identify a person as an SSN: nine digits that are no
 * filler, and no area or group or serial of zeros.
 */
export const isUsableSsn = (ssn: string): boolean =>
  /^\d{9}$/.test(ssn) &&
  !isFiller(ssn) &&
  !PRINTED_SSNS.has(ssn) &&
  !/^000|^666|^.{3}00|0000$/.test(ssn);

export const isUsableLicence = (licence: string): boolean =>
  licence.length >= 4 &&
  !isFiller(licence.replace(/^[A-Z]+/, '') || licence) &&
  !/^(UNK|NONE|TEST|PENDING|REFUSED|DECLINED)/.test(licence);

/**
 * Ten digits, no filler, and not a directory's "555-5555" or a line of zeros.
 */
export const isUsablePhone = (phone: string): boolean =>
  phone.length === 10 &&
  !isFiller(phone) &&
  !isFiller(phone.slice(3)) &&
  !/^[01]/.test(phone);

export const isUsableEmail = (email: string): boolean =>
  /^[^@\s]+@[^@\s]+$/.test(email) &&
  !/^(none|no|na|noemail|unknown|test|noreply|declined|refused|pending)@/.test(
    email,
  );

/** The zips that stand for "none": all digits alike; those of no place. */
export const isUsableZip = (zip: string): boolean =>
  /^\d{5}$/.test(zip) && !/^(0{5}|9{5})$/.test(zip);

/** Birth dates entered because a form demands one. */
export const isUsableBirthDate = (date: string): boolean =>
  date !== '1900-01-01' && date !== '1911-11-11';

/**
 * Many people whose birthday is unknown are registered under one day of a year:
 * the first, the first of July, or the Ethiopian new year.
 */
export const isDefaultBirthday = (date: string): boolean =>
  /-(01-01|07-01|09-11)$/.test(date);

/** Words of places where many people live who are no household. */
const SHARED_PLACE_WORDS: ReadonlySet<string> = new Set([
  'barracks',
  'campus',
  'convent',
  'correctional',
  'corrections',
  'detention',
  'dorm',
  'dormitory',
  'halfway',
  'homeless',
  'hospice',
  'jail',
  'monastery',
  'penitentiary',
  'prison',
  'refugee',
  'resettlement',
  'shelter',
  'undomiciled',
  'unhoused',
]);
const SHARED_PLACE =
  /\b(general delivery|no (fixed|permanent)|nursing home|care center|assisted living|residence hall|rescue mission|salvation army|group home|rehabilitation center)\b/;
/** "Campus Drive" and "Prison Road" are streets. */
const STREET =
  /^(st|street|rd|road|ave|avenue|dr|drive|ln|lane|ct|court|blvd|boulevard|way|pl|place|pkwy|parkway|trl|trail|cir|circle|ter|terrace|hill|hwy|highway|pike)$/;

/**
 * Whether an address is that of an institution, or of none (general delivery).
 *
 * @param line its words
 */
export const isSharedPlace = (line: readonly string[]): boolean =>
  SHARED_PLACE.test(line.join(' ')) ||
  line.some(
    (word, at) =>
      SHARED_PLACE_WORDS.has(word) && !STREET.test(line[at + 1] ?? ''),
  );
