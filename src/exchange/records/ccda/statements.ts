import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import type { SectionKind } from './sections.ts';

/** Elements of an entry that are clinical statements. */
export const STATEMENTS = [
  'act',
  'encounter',
  'observation',
  'organizer',
  'procedure',
  'substanceAdministration',
  'supply',
] as const;

export function sectionsOf({ component }: Json): Json[] {
  const body = objectsOf(component)[0]?.structuredBody;
  return isJson(body) ? objectsOf(body.component).flatMap(({ section }) => objectsOf(section)) : [];
}

const isSubject = (relationship: Json): boolean => relationship['@_typeCode'] === 'SUBJ';

/** The observation that a concern is about. */
export const subjectOf = (act: Json): Json | undefined =>
  objectsOf(act.entryRelationship)
    .filter(isSubject)
    .flatMap(({ observation }) => objectsOf(observation))[0];

/** The statements of an entry, including the subjects of concerns. */
const statedIn = (entry: Json): Json[] => [
  ...STATEMENTS.flatMap((kind) => objectsOf(entry[kind])),
  ...objectsOf(entry.act).map(subjectOf).filter(isJson),
];

/** Whether an entry, or a statement in it, has a nullFlavor. */
export const isNull = (entry: Json): boolean =>
  [entry, ...statedIn(entry)].some((node) => node['@_nullFlavor'] !== undefined);

export const isNegated = (node: Json): boolean => ['true', '1'].includes(String(node['@_negationInd']));
export const isNegatedEntry = (entry: Json): boolean => statedIn(entry).some(isNegated);

/** Whether a part of a statement (a result of a panel, a reaction, a reason) is negated while the statement is not. */
export const isNegatedPart = (part: Json): boolean =>
  // A negated subject negates the whole concern.
  !isSubject(part) && STATEMENTS.some((kind) => objectsOf(part[kind]).some(isNegated));

/** Moods of a statement that has come true: an event, or a criterion of one that some documents write beside it. */
const TRUE_MOODS = ['EVN', 'EVN.CRT', undefined];

/** Whether a statement is a request, an intention or a proposal rather than something that has happened. */
export const isPlanned = (node: Json): boolean => !TRUE_MOODS.includes(textOf(node['@_moodCode']));

/** The code of a statement's status, in lower case. */
export const statusOf = ({ statusCode }: Json): string | undefined =>
  textOf(objectsOf(statusCode)[0]?.['@_code'])?.toLowerCase();

/** A statement of a document, and the kind of section it is in. */
export interface Statement {
  kind: (typeof STATEMENTS)[number];
  node: Json;
  section: SectionKind | undefined;
}
