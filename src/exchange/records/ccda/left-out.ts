import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { familyMemberHistory } from './family-history.ts';
import { kindOf, type SectionKind } from './sections.ts';
import { isPlanned, STATEMENTS, sectionsOf, statusOf, subjectOf } from './statements.ts';

type Node = Record<string, unknown>;

/** A risk that the author sees is not a condition that the patient has. */
const RISK_CONCERN = '2.16.840.1.113883.10.20.22.4.136';

/** The sections in which the converter reads an act or the administration of a substance. */
const READ_IN: Readonly<Record<string, readonly (SectionKind | undefined)[]>> = {
  act: ['allergies', 'health concerns', 'plan', 'problems', 'procedures'],
  substanceAdministration: ['immunizations', 'medications', 'plan'],
  supply: [],
};

/** LOINC codes of sections whose entries are about payment, instructions to the patient, the document's purpose, or notes. */
const NOT_CLINICAL = ['34109-9', '48764-5', '48768-6', '69730-0'];

/**
 * Removes, in place, what the converter would state wrongly or pass over: findings in another person (a relative, a fetus, a donor),
 * risks, immunizations that are only planned, and kinds of entry it does not read. Returns how many there were, and what the family
 * history says about relatives. Withdrawn statements are removed and not counted.
 */
export function takeLeftOut(document: Json): { leftOut: number; relatives: Json[] } {
  let leftOut = 0;
  const relatives: Json[] = [];
  for (const section of sectionsOf(document) as Node[]) {
    const kind = kindOf(section);
    const isCounted = !NOT_CLINICAL.includes(textOf(objectsOf(section.code)[0]?.['@_code']) ?? '');
    section.entry = objectsOf(section.entry).filter((entry) => {
      if (isWithdrawn(entry)) return false;
      if (kind === 'family history') {
        const histories = objectsOf(entry.organizer).map(familyMemberHistory);
        relatives.push(...histories.filter((history) => history !== undefined));
        if (histories.length === 0 || histories.includes(undefined)) leftOut += 1;
        return false;
      }
      const isKept = STATEMENTS.every((name) =>
        objectsOf(entry[name]).every((statement) => isRead(name, statement, kind)),
      );
      if (isKept) leftOut += dropParts(entry);
      else if (isCounted) leftOut += 1;
      return isKept;
    });
  }
  return { leftOut, relatives };
}

function isRead(name: string, statement: Json, kind: SectionKind | undefined): boolean {
  const isRisk = objectsOf(statement.templateId).some((id) => textOf(id['@_root']) === RISK_CONCERN);
  return (
    !isOfAnother(statement) &&
    !isRisk &&
    !(kind === 'immunizations' && isPlanned(statement)) &&
    (READ_IN[name]?.includes(kind) ?? true)
  );
}

/** Whether a statement was withdrawn as an error; that it was made says nothing about the patient. */
const isWithdrawn = (part: Json): boolean =>
  [
    ...STATEMENTS.flatMap((name) => objectsOf(part[name])),
    ...objectsOf(part.act).map(subjectOf).filter(isJson),
  ].some((statement) => statusOf(statement) === 'nullified');

/** The subject of a statement is the document's patient unless the statement names another. */
const isOfAnother = ({ subject }: Json): boolean => objectsOf(subject).length > 0;

/** Removes the withdrawn parts of a statement and those about another person; returns the number of the latter. */
function dropParts(node: Json): number {
  let dropped = 0;
  for (const name of ['component', 'entryRelationship']) {
    if (node[name] === undefined) continue;
    const parts = objectsOf(node[name]).filter((part) => !isWithdrawn(part));
    const own = parts.filter((part) => !STATEMENTS.some((kind) => objectsOf(part[kind]).some(isOfAnother)));
    dropped += parts.length - own.length;
    (node as Node)[name] = own;
  }
  for (const name of [...STATEMENTS, 'component', 'entryRelationship'])
    for (const inner of objectsOf(node[name])) dropped += dropParts(inner);
  return dropped;
}
