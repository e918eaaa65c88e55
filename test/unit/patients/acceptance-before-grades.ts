import type { HumanName, Patient } from 'fhir/r4.js';
import type { Demographics, Gender } from '../../../src/exchange/patients/rules/demographics.ts';

/** The rule of acceptance as it was before matches were graded, unchanged: grading must not accept more or less. */
export function acceptedBefore(ours: Demographics, theirs: Patient): boolean {
  return (
    isSameNameAndBirth(ours, theirs) && !contradicts(ours.gender, theirs.gender) && sharesAnchor(ours, theirs)
  );
}

function isSameNameAndBirth(ours: Demographics, theirs: Patient): boolean {
  if (theirs.birthDate !== ours.dob) return false;
  const names = theirs.name ?? [];
  return (
    names.some((name) => sharesFirstName(ours, name)) && names.some((name) => sharesLastName(ours, name))
  );
}

/** Whether one of our first names begins with the first word of their first given name ("Mary" and "Mary Ann"). */
function sharesFirstName(ours: Demographics, name: HumanName): boolean {
  const first = words(name.given?.[0] ?? (name.family === undefined ? name.text : undefined))[0];
  return first !== undefined && ours.firstNames.some((ourName) => words(ourName)[0] === first);
}

/** Whether last names are equal, or one contains all words of the other ("Garcia" and "Garcia-Lopez": married and double names). */
function sharesLastName(ours: Demographics, name: HumanName): boolean {
  const isTextOnly = name.family === undefined && name.given === undefined;
  const family = words(isTextOnly ? name.text : name.family);
  if (family.length === 0) return false;
  return ours.lastNames.some((ourName) => {
    const ourWords = words(ourName);
    if (ourWords.length === 0) return false;
    return ourWords.join('') === family.join('') || isPart(ourWords, family) || isPart(family, ourWords);
  });
}

function isPart(part: string[], whole: string[]): boolean {
  return part.every((word) => whole.includes(word));
}

const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

function words(text: string | undefined): string[] {
  const plain = (text ?? '')
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/['’`´ʼ.]/g, '');
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

const FHIR_GENDER: Record<Exclude<Gender, 'U'>, string> = { M: 'male', F: 'female', O: 'other' };

function contradicts(ours: Gender, theirs: Patient['gender']): boolean {
  if (ours === 'U' || theirs === undefined || theirs === 'unknown') return false;
  return FHIR_GENDER[ours] !== theirs;
}

function sharesAnchor(ours: Demographics, theirs: Patient): boolean {
  const zips = new Set(ours.addresses.map(({ zip }) => zip.slice(0, 5)));
  if (theirs.address?.some(({ postalCode }) => zips.has((postalCode ?? '').trim().slice(0, 5)))) return true;
  const phones = new Set(ours.contacts.flatMap(({ phone }) => (phone === undefined ? [] : [phone])));
  if (theirs.telecom?.some(({ system, value }) => isPhone(system) && phones.has(lastTenDigits(value))))
    return true;
  return sharesIdentifier(ours, theirs);
}

function isPhone(system: string | undefined): boolean {
  return system === undefined || system === 'phone' || system === 'sms';
}

function lastTenDigits(value: string | undefined): string {
  return (value ?? '')
    .replace(/(?:x|ext).*$/i, '')
    .replace(/\D/g, '')
    .slice(-10);
}

function sharesIdentifier(ours: Demographics, theirs: Patient): boolean {
  const known = new Set(ours.personalIdentifiers.map(({ type, value }) => `${type}:${plainValue(value)}`));
  return (theirs.identifier ?? []).some(({ system, type, value }) => {
    const kind = identifierKind(
      system,
      type?.coding?.map(({ code }) => code),
    );
    // Masked values ("***-**-1234") are ignored.
    return (
      kind !== undefined &&
      value !== undefined &&
      !value.includes('*') &&
      known.has(`${kind}:${plainValue(value)}`)
    );
  });
}

const SSN_SYSTEMS = new Set(['http://hl7.org/fhir/sid/us-ssn', 'urn:oid:2.16.840.1.113883.4.1']);
/** OIDs of driver's licences: HL7's arc, followed by a number per state. */
const LICENCE_SYSTEM = /^urn:oid:2\.16\.840\.1\.113883\.4\.3\.\d+$/;

function identifierKind(
  system = '',
  codes: Array<string | undefined> = [],
): 'ssn' | 'driversLicense' | undefined {
  if (SSN_SYSTEMS.has(system) || codes.includes('SS')) return 'ssn';
  if (LICENCE_SYSTEM.test(system) || codes.includes('DL')) return 'driversLicense';
  return undefined;
}

function plainValue(value: string): string {
  return value.toUpperCase().replace(/[^A-Z0-9]/g, '');
}
