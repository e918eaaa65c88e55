import { isJson, type Json, objectsOf } from '../rules/json.ts';

/** Elements of an entry, each of which states something. */
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

/** What a concern is about. */
export const subjectOf = (act: Json): Json | undefined =>
  objectsOf(act.entryRelationship)
    .filter(isSubject)
    .flatMap(({ observation }) => objectsOf(observation))[0];

/** The statements of an entry, and what concerns among them are about. */
const statedIn = (entry: Json): Json[] => [
  ...STATEMENTS.flatMap((kind) => objectsOf(entry[kind])),
  ...objectsOf(entry.act).map(subjectOf).filter(isJson),
];

/** An entry that is there to say that there is none. */
export const isNull = (entry: Json): boolean =>
  [entry, ...statedIn(entry)].some((node) => node['@_nullFlavor'] !== undefined);

export const isNegated = (node: Json): boolean => ['true', '1'].includes(String(node['@_negationInd']));
export const isNegatedEntry = (entry: Json): boolean => statedIn(entry).some(isNegated);

/** A part of a statement that is kept, like one result of a panel, a reaction or a reason, and is negated itself. */
export const isNegatedPart = (part: Json): boolean =>
  // What a concern is about goes with the whole concern.
  !isSubject(part) && STATEMENTS.some((kind) => objectsOf(part[kind]).some(isNegated));
