import { amountInWords } from './amounts.ts';
import { conceptCodes, conceptName } from './concept-words.ts';
import { concept, nameInOneLine, telecom } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  elementsIn,
  line,
  markRead,
  statusCode,
  templatesOf,
} from './element.ts';
import { type FhirJson, fhirText } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import { statementsIn } from './sections.ts';
import type { DocumentScope } from './table.ts';
import { observedValue } from './values.ts';

/** What of an entry no rule of its own has read (`markRead`). */
export interface UnreadParts {
  /** In words, for the note of the resource that is made of the entry. */
  notes: string[];
  /** Facts of their own: what was given, done or measured with it. */
  statements: CdaElement[];
  /** Parts of which nothing is made. */
  leftOut: CdaElement[];
}

/** Types of resources that have a `note`. */
const NOTED: ReadonlySet<unknown> = new Set([
  'AllergyIntolerance',
  'CareTeam',
  'Communication',
  'CommunicationRequest',
  'Condition',
  'DeviceUseStatement',
  'FamilyMemberHistory',
  'Goal',
  'Immunization',
  'MedicationAdministration',
  'MedicationDispense',
  'MedicationRequest',
  'MedicationStatement',
  'Observation',
  'Procedure',
  'ServiceRequest',
]);

/**
 * Templates of parts that say nothing by themselves: a reference to another
 * entry, and the act whose sequence is the number of a dose.
 */
const SAYING_NOTHING = ['4.118', '4.122'];

/** LOINC code of a comment. */
export const COMMENT_CODE = '48767-8';

/**
 * The inner statements, participants and files of an entry that no rule has read.
 * Each stands as a note ("Prognosis: good"), as a fact of its own, or is counted,
 * so that nothing of an entry disappears without a sign.
 *
 * @param type of the resource that the notes are for
 */
export function unreadParts(
  node: CdaElement,
  type: unknown,
  scope: DocumentScope,
): UnreadParts {
  const parts: UnreadParts = { notes: [], statements: [], leftOut: [] };
  const isNoted = NOTED.has(type);

  const takeStatement = (part: CdaElement, isDenied: boolean): void => {
    if (isReadIn(part)) {
      walk(part);
      return;
    }
    if (
      isFact(part) ||
      (standsAlone(part) && !(isNoted && isShort(part, scope)))
    ) {
      parts.statements.push(part);
      return;
    }
    const said = isNoted ? statementInWords(part, scope) : undefined;
    markRead(part);
    if (said === undefined) parts.leftOut.push(part);
    else parts.notes.push(isDenied ? `Not: ${said}` : said);
    walk(part);
  };

  const takeOther = (
    part: CdaElement,
    inWords: (of: CdaElement, scope: DocumentScope) => string | undefined,
  ): void => {
    if (isReadIn(part)) return;
    const said = inWords(part, scope);
    markRead(part);
    if (said !== undefined && isNoted) parts.notes.push(said);
    else if (said !== undefined || !isUnknown(part)) parts.leftOut.push(part);
  };

  const walk = (of: CdaElement): void => {
    for (const relation of elementsIn(of)) {
      const label = LABELS[relation.name];
      if (relation.name === 'participant')
        takeOther(relation, participantInWords);
      else if (label !== undefined && !isKind(relation.name, type))
        takeOther(relation, (value) => labelled(label, value, scope));
      else if (relation.name === 'reference')
        for (const file of elementsAt(relation, 'externalDocument'))
          takeOther(file, fileInWords);
      else if (RELATIONS.has(relation.name))
        for (const part of statementsIn(relation))
          if (!saysNothing(part))
            takeStatement(part, isNegated(part) || isNegated(relation));
    }
  };

  walk(node);
  return { ...parts, notes: [...new Set(parts.notes)] };
}

/** What other elements of a statement say that no rule has read. */
const LABELS: Readonly<Record<string, string>> = cdaTable({
  approachSiteCode: 'Approach',
  methodCode: 'Method',
  priorityCode: 'Priority',
  value: 'Value',
});

/** Whether it is the value of an allergy, which only says that it is one. */
const isKind = (name: string, type: unknown): boolean =>
  name === 'value' && type === 'AllergyIntolerance';

function labelled(
  label: string,
  element: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const said = valueInWords(element, scope);
  return said === undefined ? undefined : `${label}: ${said}`;
}

/** Whether all that an element says is that something is not known. */
const isUnknown = (part: CdaElement): boolean =>
  attribute(part, 'nullFlavor') !== undefined ||
  (elementsIn(part).length > 0 &&
    elementsIn(part)
      .filter(({ name }) => !['id', 'templateId', 'time'].includes(name))
      .every(isUnknown));

const RELATIONS: ReadonlySet<string> = new Set([
  'component',
  'entryRelationship',
]);

/** Whether something was made of an element or of anything in it. */
const isReadIn = (part: CdaElement): boolean =>
  part.isRead === true || elementsIn(part).some(isReadIn);

const isNegated = (of: CdaElement): boolean =>
  ['true', '1'].includes(attribute(of, 'negationInd') ?? '');

/** Withdrawn, only a reference, or without anything that could be said. */
const saysNothing = (part: CdaElement): boolean =>
  statusCode(part) === 'nullified' ||
  templatesOf(part).some((template) => SAYING_NOTHING.includes(template));

/** Templates of acts and observations that are facts wherever they stand. */
const FACTS = ['4.2', '4.12', '4.39', '4.140'];
/** Templates of instructions and of notes. */
const TEXTS = ['4.20', '4.202'];
/** Longer texts are documents of their own. */
const NOTE_MAX = 300;
const MEASURED = /(?:^|:)(?:PQ|INT|REAL|RTO|IVL_PQ|RTO_PQ_PQ)$/;

function isFact(part: CdaElement): boolean {
  switch (part.name) {
    case 'encounter':
    case 'organizer':
    case 'procedure':
    case 'supply':
      return true;
    case 'substanceAdministration':
      return childOf(part, 'consumable') !== undefined;
    case 'observation':
      return (
        templatesOf(part).some((template) => FACTS.includes(template)) ||
        (MEASURED.test(attribute(childOf(part, 'value'), 'type') ?? '') &&
          templatesOf(part).length === 0)
      );
    default:
      return templatesOf(part).some((template) => FACTS.includes(template));
  }
}

/** Words or a value that can be read without what they are part of. */
const standsAlone = (part: CdaElement): boolean =>
  part.name === 'observation'
    ? childOf(part, 'value') !== undefined
    : attribute(childOf(part, 'code'), 'code') === COMMENT_CODE ||
      templatesOf(part).some((template) => TEXTS.includes(template));

const isShort = (part: CdaElement, scope: DocumentScope): boolean =>
  (line(childOf(part, 'text'), scope)?.length ?? 0) <= NOTE_MAX;

/** Codes that say how something is stated, not what. */
const FORMAL: ReadonlySet<string | undefined> = new Set([
  'ASSERTION',
  'CONC',
  '404684003',
  '85847-2',
  COMMENT_CODE,
]);

/** What a statement of a template is, when its code is only a formal one. */
const KINDS: Readonly<Record<string, string>> = cdaTable({ '4.9': 'Reaction' });

function statementInWords(
  part: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const code = childOf(part, 'code');
  const name = FORMAL.has(attribute(code, 'code'))
    ? KINDS[templatesOf(part).find((template) => template in KINDS) ?? '']
    : nameIn(code, scope);
  const values = childrenOf(part, 'value').flatMap(
    (value) => valueInWords(value, scope) ?? [],
  );
  const text = line(childOf(part, 'text'), scope);
  const isRow = text?.includes(' | ') === true;
  const said = values.length > 0 ? values.join(', ') : isRow ? undefined : text;
  // The name of an instruction is none.
  const isText = templatesOf(part).some((template) => TEXTS.includes(template));
  if (said === undefined && isText) return undefined;
  const parts = [name, said].filter((each) => each !== undefined);
  return parts.length === 0 ? undefined : [...new Set(parts)].join(': ');
}

/** What a code is called; undefined if the document has no name for it. */
function nameIn(
  code: CdaElement | undefined,
  scope: DocumentScope,
): string | undefined {
  const found = concept(code, scope);
  const name = conceptName(found);
  return name !== undefined && conceptCodes(found).includes(name)
    ? undefined
    : name;
}

/** The value of an observation in words; undefined when it has none. */
function valueInWords(
  value: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const made = observedValue(value, scope);
  const { valueCodeableConcept, valueQuantity, valueRange, valueBoolean } =
    made;
  if (valueCodeableConcept !== undefined)
    return conceptName(valueCodeableConcept);
  if (valueQuantity !== undefined) return amountInWords(valueQuantity);
  if (valueRange !== undefined) {
    const { low, high } = valueRange as FhirJson;
    return `${amountInWords(low) ?? ''} to ${amountInWords(high) ?? ''}`;
  }
  if (valueBoolean !== undefined) return valueBoolean === true ? 'yes' : 'no';
  const { valueString, valueInteger, valueDateTime } = made;
  const plain = valueString ?? valueDateTime ?? valueInteger;
  return plain === undefined ? undefined : String(plain);
}

/** What people, places and things do in a statement, by `typeCode`. */
const ROLES: Readonly<Record<string, string>> = cdaTable({
  AUTHEN: 'Authenticated by',
  CALLBCK: 'Contact',
  DEV: 'Device',
  ENT: 'Entered by',
  INF: 'Informant',
  LA: 'Signed by',
  LOC: 'Place',
  NOT: 'To be notified',
  PPRF: 'Performed by',
  PRD: 'Product',
  PRF: 'Performed by',
  REF: 'Referred by',
  RESP: 'Responsible',
  SPRF: 'Performed by',
  VRF: 'Verified by',
  WIT: 'Witness',
});

/** Codes of the roles of people who decide for a patient. */
const AGENTS: Readonly<Record<string, string>> = cdaTable({
  AGNT: 'Health care agent',
  ECON: 'Emergency contact',
  GUARD: 'Guardian',
  NOK: 'Next of kin',
});

function participantInWords(
  participant: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const role = childOf(participant, 'participantRole');
  const entity =
    childOf(role, 'playingEntity') ?? childOf(role, 'playingDevice');
  const name =
    nameInOneLine(childOf(entity, 'name')) ??
    line(childOf(entity, 'desc'), scope) ??
    conceptName(concept(childOf(entity, 'code'), scope)) ??
    line(childOf(childOf(role, 'scopingEntity'), 'desc'), scope);
  const own = conceptName(concept(childOf(role, 'code'), scope));
  const contacts = childrenOf(role, 'telecom').flatMap(
    (each) => fhirText(telecom(each)?.value) ?? [],
  );
  const said = [name ?? own, name === undefined ? undefined : own, ...contacts];
  const known = said.filter((each) => each !== undefined);
  if (name === undefined && own === undefined) return undefined;
  const as =
    ROLES[attribute(participant, 'typeCode') ?? ''] ??
    AGENTS[attribute(role, 'classCode') ?? ''] ??
    'Participant';
  return `${as}: ${known.join(', ')}`;
}

function fileInWords(
  file: CdaElement,
  scope: DocumentScope,
): string | undefined {
  const name = conceptName(concept(childOf(file, 'code'), scope));
  const text = childOf(file, 'text');
  const said =
    line(text, scope) ?? attribute(childOf(text, 'reference'), 'value');
  const parts = [name, said].filter((each) => each !== undefined);
  return parts.length === 0 ? undefined : `See: ${parts.join(', ')}`;
}
