import { devices } from './actors.ts';
import { amountInWords } from './amounts.ts';
import { concept, conceptBeside } from './datatypes.ts';
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
import { encounter } from './encounters.ts';
import { type FhirJson, fhirObjects, fhirText } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import { isPlanned, medication, supplies, supply } from './medications.ts';
import { negated } from './negation.ts';
import { addPanel, isPanelStatus, observation } from './observations.ts';
import type { SectionKind } from './section-kinds.ts';
import { statementsIn } from './sections.ts';
import { severityOf, withSeverity } from './severities.ts';
import {
  ABSENT,
  codedConcept,
  type DocumentScope,
  idKey,
  mapped,
  templateResource,
  withName,
} from './table.ts';
import type { ResourceTemplateName } from './template-types.ts';
import { isToCome, statedTime } from './times.ts';
import { COMMENT_CODE, unreadParts } from './unread-parts.ts';
import { MAPS } from './value-maps.ts';
import { observedValue } from './values.ts';

export interface Reading {
  scope: DocumentScope;
  /** Counts a statement that can be read in the document only. */
  leftOut: (node: CdaElement) => void;
  /** Counts a part of an entry that can be read in the document only. */
  leftOutPart: (node: CdaElement) => void;
}

/** Makes of a statement what it is, and counts it when that is nothing. */
export function readStatement(node: CdaElement, reading: Reading): void {
  if (isWithdrawn(node)) return;
  const read = READERS[node.name];
  if (read === undefined || (node.name !== 'organizer' && isOfAnother(node)))
    reading.leftOut(node);
  else read(node, reading);
}

/**
 * A statement that was withdrawn as an error; that it was made says nothing
 * about the patient.
 */
const isWithdrawn = (node: CdaElement): boolean =>
  statusCode(node) === 'nullified';
/**
 * The subject of a statement is the document's patient unless the statement
 * names another (a fetus, a donor).
 */
const isOfAnother = (node: CdaElement): boolean =>
  childOf(node, 'subject') !== undefined;
const isNegated = (node: CdaElement): boolean =>
  ['true', '1'].includes(attribute(node, 'negationInd') ?? '');
const has = (node: CdaElement, ...templates: string[]): boolean =>
  templatesOf(node).some((template) => templates.includes(template));
const codeIn = (node: CdaElement): string =>
  attribute(childOf(node, 'code'), 'code') ?? '';

/**
 * Adds what was made of a statement, or its negation; counts the statement when
 * there is neither. What no rule has read of it becomes a note or a fact of its
 * own, or is counted.
 *
 * @param around notes of what is around the statement
 */
function add(
  made: FhirJson | undefined,
  node: CdaElement,
  reading: Reading,
  isDenied = isNegated(node),
  around: readonly string[] = [],
): FhirJson[] {
  const { scope, leftOut } = reading;
  const stated =
    made !== undefined && isDenied ? negated(made, scope.day) : made;
  if (stated === undefined) {
    leftOut(node);
    return [];
  }
  const rest = readRest(node, stated.resourceType, reading, isDenied);
  const reference = scope.add(withNotes(stated, [...around, ...rest.notes]));
  for (const id of childrenOf(node, 'id'))
    scope.named.set(idKey(id), reference);
  rest.readFacts();
  return [reference];
}

/**
 * What no rule has read of a statement: notes for its resource, and a function
 * that reads the facts of their own. What no note can say is counted.
 *
 * @param type of the resource that is made of the statement
 * @param isDenied the statement is negated, so that what belongs to it is no fact
 */
function readRest(
  node: CdaElement,
  type: unknown,
  reading: Reading,
  isDenied = false,
): { notes: string[]; readFacts: () => void } {
  const { notes, statements, leftOut } = unreadParts(node, type, reading.scope);
  leftOut.forEach(reading.leftOutPart);
  const readFact = (statement: CdaElement): void =>
    isDenied
      ? reading.leftOutPart(statement)
      : readStatement(statement, reading);
  return { notes, readFacts: () => statements.forEach(readFact) };
}

/** What is made of a member of a panel, with the rest of what it says. */
function withRest(
  made: FhirJson,
  member: CdaElement,
  reading: Reading,
): FhirJson {
  const { notes, readFacts } = readRest(member, made.resourceType, reading);
  readFacts();
  return withNotes(made, notes);
}

const withNotes = (made: FhirJson, notes: readonly string[]): FhirJson =>
  notes.length === 0
    ? made
    : {
        ...made,
        note: fhirObjects(made.note).concat(notes.map((text) => ({ text }))),
      };

/** Adds the resource of a template. */
const as = (
  name: ResourceTemplateName,
  node: CdaElement,
  reading: Reading,
): FhirJson[] =>
  add(templateResource(name, node, reading.scope), node, reading);

const READERS: Readonly<
  Record<string, (node: CdaElement, reading: Reading) => unknown>
> = cdaTable({
  act: readAct,
  encounter: readEncounter,
  observation: readObservation,
  organizer: readOrganizer,
  procedure: (node, reading) =>
    as(isPlanned(node) ? 'ServiceRequest' : 'Procedure', node, reading),
  substanceAdministration: readSubstance,
  supply: readSupply,
});

/** A risk that the author sees is not a condition that the patient has. */
const RISK = '4.136';
const ALLERGY = ['4.7', '2.16.840.1.113883.10.20.24.3.90'];
const CONCERNS = ['4.3', '4.30', '4.132'];
const DIAGNOSES = ['4.33', '4.34', '4.51', '4.65', '4.80'];
const IN_CONCERNS: ReadonlySet<SectionKind | undefined> = new Set([
  'allergies',
  'past illnesses',
  'problems',
  'encounters',
] as const);
/** A reference to another entry, which says nothing by itself. */
const REFERENCE = '4.122';
/**
 * Acts around what they are about: admission and discharge medications,
 * interventions, concerns.
 */
const AROUND = ['4.35', '4.36', '4.131', '4.146', '4.132'];

function readAct(node: CdaElement, reading: Reading): unknown {
  const { scope, leftOut } = reading;
  const code = codeIn(node);
  if (has(node, RISK)) return leftOut(node);
  const subjects = elementsAt(
    node,
    'entryRelationship[@typeCode=SUBJ]/observation',
  );
  const isConcern =
    has(node, ...CONCERNS, ...DIAGNOSES) ||
    code === 'CONC' ||
    IN_CONCERNS.has(scope.section);
  if (isConcern && subjects.length > 0)
    return readConcern(node, subjects, reading);
  if (has(node, '4.60') || code === '48768-6')
    return readCoverage(node, reading);
  if (has(node, '4.20') || scope.section === 'instructions')
    return as(
      isPlanned(node) ? 'CommunicationRequest' : 'Communication',
      node,
      reading,
    );
  if (has(node, '4.202') || code === '34109-9')
    return as('DocumentReference', node, reading);
  if (code === COMMENT_CODE) return add(comment(node, scope), node, reading);
  const inner = elementsAt(node, 'entryRelationship')
    .flatMap(statementsIn)
    .filter((each) => !has(each, REFERENCE));
  if (
    has(node, ...AROUND) ||
    ((isConcern || code === '') && inner.length > 0)
  ) {
    for (const each of inner) readStatement(each, reading);
    return inner.length === 0 ? leftOut(node) : undefined;
  }
  return as(isPlanned(node) ? 'ServiceRequest' : 'Procedure', node, reading);
}

/** A comment that stands by itself, as an observation with its words. */
function comment(node: CdaElement, scope: DocumentScope): FhirJson | undefined {
  const valueString = line(childOf(node, 'text'), scope);
  return valueString === undefined
    ? undefined
    : { ...observation(node, scope), valueString };
}

function readCoverage(node: CdaElement, reading: Reading): void {
  const policies = elementsAt(node, 'entryRelationship/act');
  if (policies.length === 0) reading.leftOut(node);
  for (const policy of policies) as('Coverage', policy, reading);
}

/**
 * Every subject of a concern is an allergy or a problem of its own; a negated
 * subject or concern negates it.
 */
function readConcern(
  node: CdaElement,
  subjects: readonly CdaElement[],
  reading: Reading,
): FhirJson[] {
  const stated = subjects
    .filter((subject) => !isWithdrawn(subject))
    .flatMap((subject) => {
      const made: readonly (FhirJson | undefined)[] = isOfAnother(subject)
        ? [undefined]
        : subjectsOf(node, subject, reading.scope);
      return made.map((each) => ({ subject, made: each }));
    });
  for (const { subject } of stated) markRead(subject);
  const around = readAround(node, stated[0]?.made?.resourceType, reading);
  return stated.flatMap(({ subject, made }) =>
    add(made, subject, reading, isDenied(node, subject), around),
  );
}

/** Whether a subject or its relationship to the concern is negated. */
const isDenied = (
  concern: CdaElement | undefined,
  subject: CdaElement,
): boolean =>
  isNegated(subject) ||
  (concern !== undefined && isNegated(concern)) ||
  childrenOf(concern, 'entryRelationship').some(
    (each) => isNegated(each) && elementsIn(each).includes(subject),
  );

/**
 * What a concern says beside its subjects, as notes; what no note says is
 * counted.
 */
function readAround(
  concern: CdaElement,
  type: unknown,
  reading: Reading,
): string[] {
  const inner = elementsIn(concern).filter(
    ({ name }) => name !== 'entryRelationship',
  );
  const others = childrenOf(concern, 'entryRelationship').filter(
    (each) => !statementsIn(each).some(({ isRead }) => isRead),
  );
  const around = { ...concern, content: [...inner, ...others] };
  const { notes, readFacts } = readRest(around, type, reading);
  readFacts();
  return notes;
}

const isAllergy = (node: CdaElement): boolean =>
  has(node, ...ALLERGY) ||
  elementsAt(node, 'participant[@typeCode=CSM]').length > 0;

function subjectsOf(
  concern: CdaElement,
  subject: CdaElement,
  scope: DocumentScope,
): FhirJson[] {
  if (isAllergy(subject)) return allergies(subject, scope, concern);
  const section = has(concern, ...DIAGNOSES) ? 'encounters' : scope.section;
  return [
    condition(
      subject,
      scope,
      statusCode(concern),
      section && MAPS.ConditionCategory[section],
    ),
  ];
}

/**
 * The template of a pregnancy intention, which is an observation though its
 * mood is one of a plan.
 */
const PREGNANCY_INTENTION = '4.281';

function readObservation(node: CdaElement, reading: Reading): unknown {
  const { scope } = reading;
  if (attribute(node, 'moodCode') === 'GOL')
    return add(isNegated(node) ? undefined : goal(node, scope), node, reading);
  if (isPlanned(node) && !has(node, PREGNANCY_INTENTION))
    return as('ServiceRequest', node, reading);
  if (isAllergy(node))
    return allergies(node, scope).flatMap((made) => add(made, node, reading));
  if (
    has(node, '4.4') ||
    (scope.section === 'problems' && childOf(node, 'value') !== undefined)
  )
    return add(
      condition(
        node,
        scope,
        undefined,
        scope.section && MAPS.ConditionCategory[scope.section],
      ),
      node,
      reading,
    );
  const isProcedure = has(node, '4.13') || scope.section === 'procedures';
  if (isProcedure && !has(node, '4.2')) return as('Procedure', node, reading);
  if (scope.section === 'family history' || isEmpty(node))
    return reading.leftOut(node);
  return add(observation(node, scope), node, reading);
}

/** An element without a code and a value states nothing. */
const isEmpty = (node: CdaElement): boolean =>
  ['code', 'value', 'text'].every((name) => childOf(node, name) === undefined);

/** The value of a goal is its target. */
function goal(node: CdaElement, scope: DocumentScope): FhirJson {
  const { dueDate, ...made } = templateResource('Goal', node, scope) ?? {};
  const [detail] = Object.entries(
    observedValue(childOf(node, 'value'), scope),
  ).flatMap(([name, value]) =>
    /^value(?:Quantity|Range|CodeableConcept|String)$/.test(name)
      ? [[name.replace('value', 'detail'), value] as const]
      : [],
  );
  const target = {
    measure: detail && made.description,
    ...(detail && { [detail[0]]: detail[1] }),
    dueDate,
  };
  return {
    ...made,
    target:
      detail === undefined && dueDate === undefined ? undefined : [target],
  };
}

function readOrganizer(node: CdaElement, reading: Reading): unknown {
  const { scope, leftOut } = reading;
  if (isNegated(node)) return leftOut(node);
  if (has(node, '4.45') || scope.section === 'family history') {
    return as('FamilyMemberHistory', node, reading);
  }
  if (has(node, '4.500') || scope.section === 'care teams')
    return as('CareTeam', node, reading);
  const members = elementsAt(node, 'component').flatMap(statementsIn);
  const isMember = (member: CdaElement) =>
    member.name === 'observation' &&
    ![
      isWithdrawn,
      isOfAnother,
      isNegated,
      isPlanned,
      isEmpty,
      isPanelStatus,
    ].some((isOther) => isOther(member));
  addPanel(node, members.filter(isMember), scope, (made, member) =>
    withRest(made, member, reading),
  );
  // The collection of a specimen belongs to the report.
  for (const member of members)
    if (
      !isMember(member) &&
      !isPanelStatus(member) &&
      codeIn(member) !== '17636008'
    )
      readStatement(member, reading);
  return members.length === 0 ? leftOut(node) : undefined;
}

function readSubstance(node: CdaElement, reading: Reading): unknown {
  const { scope } = reading;
  const isVaccine =
    has(node, '4.52', '4.120') || scope.section === 'immunizations';
  if (isVaccine && !isPlanned(node)) {
    const made = templateResource('Immunization', node, scope);
    if (made !== undefined && made.occurrenceDateTime === undefined)
      made.occurrenceString = 'unknown';
    return add(made, node, reading);
  }
  const made = medication(node, scope);
  const supplied = isNegated(node) ? [] : supplies(node, scope);
  add(made, node, reading);
  for (const each of supplied) scope.add(each);
  return undefined;
}

function readSupply(node: CdaElement, reading: Reading): unknown {
  const { scope } = reading;
  if (isNegated(node)) return reading.leftOut(node);
  const ofDrug = supply(node, scope);
  const used = devices(node, scope);
  const use = {
    ...mapped('DeviceUseStatement', node, scope),
    resourceType: 'DeviceUseStatement',
  };
  if (used.length > 0)
    return used.map((device) => add({ ...use, device }, node, reading));
  if (isPlanned(node))
    return ofDrug === undefined
      ? as('ServiceRequest', node, reading)
      : add(ofDrug, node, reading);
  return ofDrug === undefined || !has(node, '4.18')
    ? as('SupplyDelivery', node, reading)
    : add(ofDrug, node, reading);
}

/** LOINC code of the acts around the diagnoses of an encounter. */
const DIAGNOSIS = '29308-4';

function readEncounter(node: CdaElement, reading: Reading): unknown {
  const { scope } = reading;
  if (isNegated(node)) return reading.leftOut(node);
  const acts = elementsAt(node, 'entryRelationship/act');
  const diagnoses = acts
    .filter((act) => has(act, ...DIAGNOSES) || codeIn(act) === DIAGNOSIS)
    .flatMap((act) =>
      readConcern(act, elementsAt(act, 'entryRelationship/observation'), {
        ...reading,
        scope: { ...scope, section: 'encounters' },
      }),
    );
  return add(encounter(node, scope, diagnoses), node, reading);
}

const ENDED = ['inactive', 'remission', 'resolved'];
/** Statuses of concerns that are over (the guide's ConditionClinicalStatus). */
const OVER = ['aborted', 'completed', 'suspended'];

/**
 * The clinical status (C-CDA on FHIR, Problems and Allergies): what the status
 * observation says, otherwise what the concern says. An end that is stated
 * beside an active concern ends nothing by itself: vendors write it with what
 * goes on, as they do with one that is unknown (`high nullFlavor="UNK"`).
 *
 * @param concern status of the act around the observation
 */
function clinicalStatus(
  stated: unknown,
  concern: string | undefined,
  hasEnd: boolean,
): string {
  if (typeof stated === 'string') return stated;
  if (!OVER.includes(concern ?? '')) return 'active';
  return hasEnd ? 'resolved' : 'inactive';
}

/**
 * The clinical status of a problem. FHIR has no active problem with an end: one
 * that has ended is resolved, and inactive if it is stated to go on (the
 * guide).
 */
function problemStatus(
  stated: unknown,
  concern: string | undefined,
  hasEnd: boolean,
): string {
  const status = clinicalStatus(stated, concern, hasEnd);
  if (!hasEnd || ENDED.includes(status)) return status;
  return stated === undefined ? 'resolved' : 'inactive';
}

/**
 * @param category FHIR's category by the section or the act; the diagnosis of
 *   an encounter, or an illness listed as a past one, is not said to go on
 */
function condition(
  node: CdaElement,
  scope: DocumentScope,
  concern?: string,
  category?: string,
): FhirJson {
  const made = templateResource('Condition', node, scope) ?? {};
  const end = fhirText(made.abatementDateTime);
  const hasEnd = end !== undefined && !isToCome(end, scope.day);
  const status = problemStatus(made.clinicalStatus, concern, hasEnd);
  const isOfPast =
    category === 'encounter-diagnosis' ||
    (scope.section === 'past illnesses' && !concern);
  const isStated = made.clinicalStatus !== undefined || hasEnd || !isOfPast;
  const { hasUnknownEnd } = statedTime(
    childOf(node, 'effectiveTime'),
    scope.offset,
  );
  const { onsetAge, note, abatementDateTime, _abatementDateTime, ...rest } =
    made;
  // FHIR has one onset, and no end of what is active; the age beside a date,
  // and an end to come, stay in words.
  const age =
    made.onsetDateTime === undefined
      ? undefined
      : (onsetAge as FhirJson | undefined);
  const isOpen = end !== undefined && !ENDED.includes(status);
  const isContradicted =
    made.clinicalStatus !== undefined && made.clinicalStatus !== status;
  const notes = [
    age && `Age at onset: ${amountInWords(age) ?? ''}`,
    isOpen && `Stated to end on ${end}`,
    isContradicted && `Stated to be ${String(made.clinicalStatus)}`,
  ];
  return {
    ...rest,
    ...(age === undefined ? { onsetAge } : {}),
    ...(isOpen ? {} : { abatementDateTime, _abatementDateTime }),
    note: [
      ...((note ?? []) as FhirJson[]),
      ...notes.flatMap((text) => (text ? [{ text }] : [])),
    ],
    clinicalStatus: isStated
      ? codedConcept('condition-clinical', status)
      : undefined,
    category:
      category === undefined
        ? undefined
        : [codedConcept('condition-category', category)],
    code: made.code ?? ABSENT,
    ...(hasUnknownEnd && !hasEnd && ENDED.includes(status)
      ? { _abatementDateTime: ABSENT }
      : {}),
  };
}

/** An allergy for each substance that a statement names. */
function allergies(
  node: CdaElement,
  scope: DocumentScope,
  concern?: CdaElement,
): FhirJson[] {
  const participants = childrenOf(node, 'participant');
  const substances = participants.filter(
    (each) => attribute(each, 'typeCode') === 'CSM',
  );
  const consumed =
    substances.length === 0 ? participants.slice(0, 1) : substances;
  return consumed.length === 0
    ? [allergy(node, scope, undefined, concern)]
    : consumed.map((each) => allergy(node, scope, each, concern));
}

/**
 * An allergy. The substance is where the document has it: as code, name or
 * description of the participant, in the value or in the words that the entry
 * refers to. Its severity may be stated at the allergy or at its concern.
 */
function allergy(
  node: CdaElement,
  scope: DocumentScope,
  consumed: CdaElement | undefined,
  concern?: CdaElement,
): FhirJson {
  const made = templateResource('AllergyIntolerance', node, scope) ?? {};
  const own = severityOf(node, scope);
  const severity =
    own.severity === undefined ? severityOf(concern, scope) : own;
  const [end] = fhirObjects(made.extension).map(({ valueDateTime }) =>
    fhirText(valueDateTime),
  );
  const hasEnd = end !== undefined && !isToCome(end, scope.day);
  const status = clinicalStatus(
    made.clinicalStatus,
    concern && statusCode(concern),
    hasEnd,
  );
  return {
    ...made,
    clinicalStatus: codedConcept('allergyintolerance-clinical', status),
    code: substance(node, consumed, isDenied(concern, node), scope) ?? ABSENT,
    reaction: withSeverity(fhirObjects(made.reaction), severity),
  };
}

function substance(
  node: CdaElement,
  consumed: CdaElement | undefined,
  isDenied: boolean,
  scope: DocumentScope,
): FhirJson | undefined {
  const [role] = childrenOf(consumed, 'participantRole');
  const entity = childOf(role, 'playingEntity');
  const value = childOf(node, 'value');
  const named = (element: CdaElement | undefined): FhirJson | undefined => {
    const text = line(element, scope);
    // Words that only repeat the kind of allergy name no substance.
    return text === undefined || text.toLowerCase() === kind?.toLowerCase()
      ? undefined
      : { text };
  };
  const isKind = MAPS.NoneAtAll[attribute(value, 'code') ?? ''] !== undefined;
  const kind = isKind ? attribute(value, 'displayName') : undefined;
  const name = named(childOf(entity, 'name'));
  return (
    withName(
      conceptBeside(fhirText(name?.text), childOf(entity, 'code'), scope),
      named(childOf(node, 'text')),
    ) ??
    name ??
    named(childOf(entity, 'desc')) ??
    concept(childOf(role, 'code'), scope) ??
    (isKind ? named(childOf(value, 'originalText')) : concept(value, scope)) ??
    named(childOf(node, 'text')) ??
    (isDenied ? concept(value, scope) : undefined)
  );
}
