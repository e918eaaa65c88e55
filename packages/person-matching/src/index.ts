/*
 * Whether two descriptions are of one person (README.md).
 */

export {
  comparePersons,
  contradictedIdentifiers,
  type PersonComparison,
} from './compare-persons.ts';
export type {
  FhirPatient,
  PersonAddress,
  PersonDemographics,
} from './descriptions.ts';
export {
  agreeingTraits,
  type ContradictingTrait,
  contradictingTraits,
  gradeMatch,
  isContradicted,
  MATCH_RULES_VERSION,
  type MatchGrade,
  type MatchQuality,
  type PersonMatch,
  QUALITY_SCORES,
} from './match-score.ts';
export { areNicknames, nameVariants } from './name-words.ts';
export { NICKNAMES } from './nicknames.ts';
export {
  agreementWith,
  agreesElsewhere,
  agreesWithPerson,
  compareIdentifiers,
  describesAnother,
  describesExactly,
  describesPerson,
  statedOtherwise,
} from './patient-matching.ts';
export {
  householdOf,
  identifiersOf,
  lastNameOf,
  type PersonTraits,
  traitsOfPatient,
  traitsOfPerson,
  withoutShared,
} from './person-traits.ts';
export { isStandInName, isUsableBirthDate, isUsableZip } from './stand-ins.ts';
export { mistypedDates } from './typing-errors.ts';
