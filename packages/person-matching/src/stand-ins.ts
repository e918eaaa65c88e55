import { nameWords } from './name-words.ts';

/*
 * Names and values that say nothing about who a person is: names given to
 * newborns until they have one, names of people who are unknown, and values
 * that are entered because a form demands something. (docs/matching.md)
 */

/** A word of a first name by which a hospital names a newborn. */
const NEWBORN_WORD =
  /^(nb[bfgm]?|rn|newborn.*|neonate|(.*s|baby)?(boy|girl)\d)$/;
/**
 * The same, of which some are names of adults: Baby and Boy Reyes, Infant Raj,
 * B.B. King. (Jimboy, Babylyn and Marygirl are names of anybody.)
 */
const NAME_OF_A_CHILD =
  /^(baby(boy|girl)?[a-d\d]?|bb|bg|infant|twin[ab12]?|triplet|(.*s)?(boy|girl))$/;

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

/**
 * Whether the words of a first name only stand in for one.
 *
 * @param isAdult a word that newborns and adults are called is then a name
 */
export const isStandInGiven = (
  given: readonly string[],
  isAdult: boolean,
): boolean =>
  isUnknown(given) ||
  given.some(
    (word) =>
      NEWBORN_WORD.test(word) || (!isAdult && NAME_OF_A_CHILD.test(word)),
  ) ||
  SEX.has(given[0] ?? '');

export const isStandInFamily = (
  family: readonly string[],
  given: readonly string[],
): boolean =>
  isUnknown(family) ||
  (family.join('') === 'doe' && ANYBODY.has(given[0] ?? ''));

/**
 * @param firstNames, lastNames as stored, each of one or more words
 * @param dob YYYY-MM-DD
 */
export function isStandInName(
  firstNames: readonly string[],
  lastNames: readonly string[],
  dob: string,
): boolean {
  const given = firstNames.flatMap(nameWords);
  const family = lastNames.flatMap(nameWords);
  return isStandInGiven(given, isAdult(dob)) || isStandInFamily(family, given);
}

/**
 * Whether somebody born on this day is of age today. Hospitals name newborns,
 * and a record that was never updated may be that of a child; of an unknown
 * birth it may be anybody's.
 */
export function isAdult(dob: string | undefined): boolean {
  if (dob === undefined || !isUsableBirthDate(dob)) return false;
  const now = new Date();
  const limit = new Date(now);
  limit.setUTCFullYear(now.getUTCFullYear() - YEARS_OF_AGE);
  return dob <= limit.toISOString().slice(0, 10);
}
const YEARS_OF_AGE = 18;

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
]);
/** Areas, groups and serials that are never issued (SSA, POMS RM 10201.035). */
const NEVER_ISSUED = /^000|^666|^9|^.{3}00|0000$/;
/**
 * Typed to fill a field: 111-22-3333; 123-12-1234 and all others that begin
 * with 123-12 or 123-45; one or three digits again and again.
 */
const TYPED_SSN =
  /^(.)\1\1(.)\2(.)\3{3}$|^12312|^12345|^(.)\4{6}|(.)\5{6}$|^(.{3})\6\6$|^(..)\7{3}/;

/**
 * Whether a text may identify a person as an SSN: nine digits that are no
 * filler, and that may have been issued.
 */
export const isUsableSsn = (ssn: string): boolean =>
  /^\d{9}$/.test(ssn) &&
  !isFiller(ssn) &&
  !PRINTED_SSNS.has(ssn) &&
  !TYPED_SSN.test(ssn) &&
  !NEVER_ISSUED.test(ssn);

export const isUsableLicence = (licence: string): boolean =>
  licence.length >= 4 &&
  !isFiller(licence.replace(/^[A-Z]+/, '') || licence) &&
  !/^(UNK|NONE|TEST|PENDING|REFUSED|DECLINED|NOTGIVEN|APPLIED)/.test(licence);

/**
 * Ten digits, no filler, and not a number that nobody has: area or exchange 555
 * (555-1212 is a directory, 555-0100 is for films).
 */
export const isUsablePhone = (phone: string): boolean =>
  phone.length === 10 &&
  !isFiller(phone) &&
  !isFiller(phone.slice(3)) &&
  !/^[01]|^555|^...555/.test(phone);

export const isUsableEmail = (email: string): boolean =>
  /^[^@\s]+@[^@\s]+$/.test(email) &&
  !NO_MAILBOX.test(email) &&
  !/@(none|no|na|noemail|nomail|unknown|refused|declined|pending|test)\./.test(
    email,
  );
const NO_MAILBOX =
  /^((no|not?)[-_.]?(e?mail|reply|one|body|given|provided|available)|none|no|na|n[./]a|null|nil|unknown|unk|test|declined?|refused?|pending|patient|e?mail|abc|(.)\4{2,})@/;

/**
 * The zips that stand for "none": all digits alike; those of no place; 12345,
 * which is typed as a filler.
 */
export const isUsableZip = (zip: string): boolean =>
  /^\d{5}$/.test(zip) && !/^(0{5}|9{5}|12345)$/.test(zip);

/** Birth dates entered because a form demands one. */
export const isUsableBirthDate = (date: string): boolean =>
  !/^(1900-01-01|1911-11-11|1111-11-11)$/.test(date);

/**
 * Many people whose birthday is unknown are registered under one day of a year:
 * the first, the first of July, or the Ethiopian new year; also with day and
 * month exchanged.
 */
export const isDefaultBirthday = (date: string): boolean =>
  /-(01-01|07-01|01-07|09-11|11-09)$/.test(date);

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
