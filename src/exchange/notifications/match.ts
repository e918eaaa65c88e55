import type { Patient } from 'fhir/r4.js';
import { agreesWithPerson, describesPerson, words } from '../patients/rules/patient-matching.ts';
import type { Candidate } from './candidate-store.ts';
import { isDay } from './message-time.ts';

export interface Match {
  accountId: string;
  patientId: string;
}

/** What a description must have for anybody to be found by it. */
export function describesEnough(person: Patient): boolean {
  const hasName = (person.name ?? []).some(({ family, given, text }) =>
    Boolean((family && given?.length) || text),
  );
  return hasName && isDay(person.birthDate) && zipsOf(person).length > 0;
}

export function zipsOf(person: Patient): string[] {
  const zips = (person.address ?? []).map(({ postalCode }) => (postalCode ?? '').trim().slice(0, 5));
  return [...new Set(zips.filter((zip) => /^\d{5}$/.test(zip)))];
}

/**
 * Which patient of each account a message is about. A new one must be described by the rule for sources' answers
 * (domain/patient-matching.ts), with the zip of the primary address as the only thing that tells namesakes apart; of
 * several such the one at the same street. Whom an account was told of stays as long as name, birth and gender agree,
 * for people move; without a description everybody stays. Several that fit: nobody, and `isAmbiguous`.
 */
export function matchPatients(
  candidates: readonly Candidate[],
  person: Patient | undefined,
): { matches: Match[]; isAmbiguous: boolean } {
  const matches: Match[] = [];
  let isAmbiguous = false;
  for (const accountId of new Set(candidates.map((candidate) => candidate.accountId))) {
    const ofAccount = candidates.filter((candidate) => candidate.accountId === accountId);
    const staying = ofAccount.filter(
      (candidate) => candidate.isLinked && (person === undefined || agreesWithPerson(candidate, person)),
    );
    const fitting = staying.length > 0 || person === undefined ? staying : fittingOf(ofAccount, person);
    const [only] = fitting;
    if (only !== undefined && (fitting.length === 1 || staying.length > 0))
      matches.push({ accountId, patientId: only.id });
    else isAmbiguous ||= fitting.length > 1;
  }
  return { matches, isAmbiguous };
}

function fittingOf(candidates: readonly Candidate[], person: Patient): Candidate[] {
  const fitting = candidates.filter((candidate) =>
    describesPerson(
      { ...candidate, addresses: candidate.addresses.slice(0, 1), contacts: [], personalIdentifiers: [] },
      person,
    ),
  );
  if (fitting.length < 2) return fitting;
  const streets = (person.address ?? []).map(({ line }) => words(line?.[0]).join(' '));
  const atStreet = fitting.filter(({ addresses }) =>
    streets.includes(words(addresses[0]?.addressLine1).join(' ')),
  );
  return atStreet.length === 1 ? atStreet : fitting;
}
