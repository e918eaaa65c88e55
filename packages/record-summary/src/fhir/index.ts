/*
 * What elements of FHIR R4 say, however sources write them: in words for
 * readers, and as days, codes and amounts that can be compared (README.md).
 */

export {
  type AbsenceStatement,
  type AbsenceTopic,
  absencesIn,
} from './absence.ts';
export { SYSTEM_SPELLINGS } from './code-systems.ts';
export {
  codeSystem,
  isEnteredInError,
  isNullFlavor,
  meaningOf,
  meaningsBySystem,
  meaningsOf,
  valueElement,
  valueMeaning,
} from './codes.ts';
export {
  canBeOneMoment,
  clinicalTime,
  comparedMoment,
  type DateRange,
  type Days,
  day,
  dayToFindBy,
  EARLIEST,
  firstMoment,
  LATEST,
  moment,
  momentOf,
  rangeOf,
} from './dates.ts';
export {
  distinctionsOf,
  type LinkedResources,
  NOT_LINKED,
  sidesIn,
  specimenFrom,
} from './distinctions.ts';
export type {
  ChoiceNameOf,
  ChoiceOf,
  ElementOf,
  ElementPath,
  MemberOf,
  ReceivedResource,
  ResourceType,
} from './elements.ts';
export {
  canonical,
  canonicalJson,
  comparableText,
  isJson,
  type Json,
  objectsOf,
  rememberingLast,
  sorted,
  sortedNames,
  sortTexts,
  textOf,
} from './json.ts';
export {
  bucketsOf,
  comparableUnit,
  isWithinPrecision,
  type Measure,
  measureIn,
  measureOf,
  significantDigits,
} from './measures.ts';
export { isUnderstood } from './modifiers.ts';
export { fromBaseUnits, inBaseUnits, ucumUnit } from './ucum.ts';
export { PREFERRED_UNITS } from './ucum-units.ts';
export {
  codesOf,
  conceptText,
  dayText,
  momentText,
  NO_NAME,
  nameText,
  periodText,
} from './words.ts';
