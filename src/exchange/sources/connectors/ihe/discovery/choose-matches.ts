import { comparableId } from '#ihe';
import {
  comparePersons,
  gradeMatch,
  traitsOfPatient,
  traitsOfPerson,
} from '#person-matching';
import { counted } from '../../../../../lib/counted.ts';
import type { HeldCandidate, SoughtPerson } from '../../connector.ts';
import {
  chooseCandidates,
  heldCandidate,
  sharedWith,
} from '../../patient/choose-candidates.ts';
import type { CommunityMatch } from './community-patient.ts';

export interface ChosenMatches {
  accepted: CommunityMatch[];
  held: HeldCandidate[];
  /** For the timeline, without anything about the people. */
  heldBack?: string;
}

/**
 * Chooses the matches that are our person. Several communities may hold the
 * person, and each of them is taken. But a community that returns several who
 * may be our person does not know which one is (ITI TF-2 3.55.4.2.2.3): a person
 * decides. What is left must be certain by our own rule, whatever the community
 * says of its certainty (docs/matching.md).
 */
export async function chooseMatches(
  person: SoughtPerson,
  found: readonly CommunityMatch[],
): Promise<ChosenMatches> {
  const shared = await sharedWith(
    person,
    found.map(({ patient }) => patient),
  );
  const alike = found.filter((match) => isAlike(person, match));
  const communities = byCommunity(alike);
  const isClear = (match: CommunityMatch, { length }: CommunityMatch[]) =>
    length === 1 || isConfirmed(person, match);
  const single = communities.flatMap((matches) =>
    matches.filter((match) => isClear(match, matches)),
  );
  const unclear = communities.flatMap((matches) =>
    matches.filter((match) => !isClear(match, matches)),
  );
  const chosen = chooseCandidates(
    person,
    single.map(({ patient }) => ({ patient, isClaimed: true })),
    shared,
  );
  const acceptedIds = new Set(chosen.accepted.map(({ id }) => id));
  const reasons = [
    ...(unclear.length === 0
      ? []
      : [
          `A community returned ${counted(unclear.length, 'Patient')} who may be this patient. Nothing of these was collected: they are on the list of candidates (npm run admin -- candidates list), for a person to decide`,
        ]),
    ...(chosen.heldBack === undefined ? [] : [chosen.heldBack]),
  ];
  return {
    accepted: single.filter(({ patient }) => acceptedIds.has(patient.id)),
    held: [
      ...unclear.map(({ patient }) => heldCandidate(person, patient, shared)),
      ...chosen.held,
    ],
    ...(reasons.length === 0 ? {} : { heldBack: reasons.join('. ') }),
  };
}

/** The matches of each community, each patient once. */
function byCommunity(found: readonly CommunityMatch[]): CommunityMatch[][] {
  const once = new Map(found.map((match) => [match.patient.id, match]));
  return [
    ...Map.groupBy(once.values(), ({ community }) =>
      comparableId(community.homeCommunity),
    ).values(),
  ];
}

/** Whether a match may be our person, and nobody has said that it is not. */
const isAlike = (person: SoughtPerson, { patient }: CommunityMatch): boolean =>
  person.review?.decided.get(patient.id) !== false &&
  gradeMatch(comparePersons(traitsOfPerson(person), traitsOfPatient(patient)))
    .grade !== 'certainly-not';

const isConfirmed = (
  person: SoughtPerson,
  { patient }: CommunityMatch,
): boolean => person.review?.decided.get(patient.id) === true;
