import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import tables from './elements.json' with { type: 'json' };
import { formatFaultOf } from './formats.ts';
import { INVARIANTS, type Invariant } from './invariants.ts';
import { narrativeFault } from './narrative.ts';

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** Facts restated from HL7's definitions by scripts/fhir-elements.ts. */
const { r4: R4, others: OTHERS }: { r4: Table; others: Table } =
  lookupTable(tables);

export interface R4Fault {
  /** Where, without the place in lists: `Encounter.class`. */
  element: string;
  /** Whether STU3 or R5 define the element in this form. */
  isOfOtherVersion: boolean;
  /** A number that JavaScript reads as infinite. */
  isHugeNumber?: true;
  /** What is wrong, after the name of the element. */
  says: string;
  /** HL7's key of a broken rule between elements. */
  rule?: string;
}

const NOT_DEFINED = 'is missing or not as FHIR R4 defines it';

/**
 * What of a resource FHIR R4 does not know, or knows in another form: elements,
 * codes of required value sets, required elements that are missing, several of
 * which only one may be there, formats of dates and numbers, narratives, what is
 * empty, and the rules between elements that R4 calls errors. Types that records
 * do not hold have no faults.
 */
export function r4Faults(resource: Json): R4Fault[] {
  const type = String(resource.resourceType);
  const found: Found = { root: resource, path: [type], faults: [] };
  walk(resource, type, '', found);
  return found.faults;
}

/** Whether R4 defines the element for the type. */
export const hasElement = (type: string, element: string): boolean =>
  R4[type]?.[element] !== undefined;

/**
 * The elements of a type of R4, by name: `Attachment`, or the type of a backbone
 * element. Empty for a type that R4 does not have.
 */
export const elementTypesOf = (type: string): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(R4[type] ?? {}).map(([name, spec]) => [
      name,
      spec.replace(/^!|\*$/g, ''),
    ]),
  );

interface Element {
  /** A data type, a type of JSON, or `Resource`. */
  type: string;
  isComplex: boolean;
  isList: boolean;
  codes?: ReadonlySet<string>;
  /** `Type.element`: another version may have another type of value there. */
  place: string;
  /** What is wrong with a value of the right type. */
  formatFault?: (value: unknown) => string | undefined;
  /** Set for a CodeableConcept that must have one of these codes. */
  concept?: { system: string; codes: readonly string[] };
}

interface Elements {
  byName: ReadonlyMap<string, Element>;
  required: readonly string[];
  /** Of which one must be there. */
  requiredChoices: readonly Choice[];
  /** By each of their names. */
  choices: ReadonlyMap<string, Choice>;
  invariants: readonly Invariant[];
}

/** Elements that are one in R4, `value[x]`, named after the type of the value. */
interface Choice {
  prefix: string;
  names: readonly string[];
}

/** `[x]` of which one must be there (R4). */
const REQUIRED_CHOICES: ReadonlySet<string> = new Set([
  'ClaimDiagnosis.diagnosis',
  'ClaimProcedure.procedure',
  'CommunicationPayload.content',
  'CommunicationRequestPayload.content',
  'CompositionRelatesTo.target',
  'CoverageCostToBeneficiary.value',
  'DeviceRequest.code',
  'ExplanationOfBenefitDiagnosis.diagnosis',
  'ExplanationOfBenefitProcedure.procedure',
  'Immunization.occurrence',
  'ImmunizationProtocolApplied.doseNumber',
  'MedicationAdministration.effective',
  'MedicationAdministration.medication',
  'MedicationDispense.medication',
  'MedicationIngredient.item',
  'MedicationRequest.medication',
  'MedicationRequestSubstitution.allowed',
  'MedicationStatement.medication',
  'SubstanceIngredient.substance',
  'SupplyRequest.item',
  'TaskInput.value',
  'TaskOutput.value',
]);

/** CodeableConcepts of which a coding must be of a value set (R4: required). */
const CONCEPT_CODES: Readonly<
  Record<string, { system: string; codes: readonly string[] }>
> = lookupTable({
  'AdverseEvent.severity': {
    system: 'http://terminology.hl7.org/CodeSystem/adverse-event-severity',
    codes: ['mild', 'moderate', 'severe'],
  },
  'AdverseEvent.outcome': {
    system: 'http://terminology.hl7.org/CodeSystem/adverse-event-outcome',
    codes: [
      'resolved',
      'recovering',
      'ongoing',
      'resolvedWithSequelae',
      'fatal',
      'unknown',
    ],
  },
  'AllergyIntolerance.clinicalStatus': {
    system: 'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical',
    codes: ['active', 'inactive', 'resolved'],
  },
  'AllergyIntolerance.verificationStatus': {
    system:
      'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
    codes: ['unconfirmed', 'confirmed', 'refuted', 'entered-in-error'],
  },
  'Condition.clinicalStatus': {
    system: 'http://terminology.hl7.org/CodeSystem/condition-clinical',
    codes: [
      'active',
      'recurrence',
      'relapse',
      'inactive',
      'remission',
      'resolved',
    ],
  },
  'Condition.verificationStatus': {
    system: 'http://terminology.hl7.org/CodeSystem/condition-ver-status',
    codes: [
      'unconfirmed',
      'provisional',
      'differential',
      'confirmed',
      'refuted',
      'entered-in-error',
    ],
  },
  'SupplyDelivery.type': {
    system: 'http://terminology.hl7.org/CodeSystem/supply-item-type',
    codes: ['medication', 'device'],
  },
});

/** What the name of an element of `[x]` ends with. */
const CHOSEN =
  /^(.+?)(?:Base64Binary|Boolean|Canonical|Code|Date|DateTime|Decimal|Id|Instant|Integer|Markdown|Oid|PositiveInt|String|Time|UnsignedInt|Uri|Url|Uuid|Address|Age|Annotation|Attachment|CodeableConcept|Coding|ContactPoint|Count|Distance|Duration|HumanName|Identifier|Money|Period|Quantity|Range|Ratio|Reference|SampledData|Signature|Timing|ContactDetail|Contributor|DataRequirement|Expression|ParameterDefinition|RelatedArtifact|TriggerDefinition|UsageContext|Dosage|Meta)$/;

/**
 * The elements of each type, as the table writes them: `!` required, `*` list,
 * a name in capitals or codes divided by `|`.
 */
const ELEMENTS: ReadonlyMap<string, Elements> = new Map(
  Object.entries(R4).map(([type, specs]) => [type, elementsOf(type, specs)]),
);

function elementsOf(
  type: string,
  specs: Readonly<Record<string, string>>,
): Elements {
  const choices = choicesIn(specs);
  return {
    byName: new Map(
      Object.entries(specs).map(([name, spec]) => [
        name,
        elementOf(spec, `${type}.${name}`),
      ]),
    ),
    required: Object.keys(specs).filter((name) => specs[name]?.startsWith('!')),
    requiredChoices: choices.filter(({ prefix }) =>
      REQUIRED_CHOICES.has(`${type}.${prefix}`),
    ),
    choices: new Map(
      choices.flatMap((choice) =>
        choice.names.map((name) => [name, choice] as const),
      ),
    ),
    invariants: INVARIANTS[type] ?? [],
  };
}

function choicesIn(specs: Readonly<Record<string, string>>): Choice[] {
  const single = Object.keys(specs).filter(
    (name) => !(specs[name] ?? '').endsWith('*'),
  );
  const groups = Map.groupBy(single, (name) => CHOSEN.exec(name)?.[1] ?? '');
  return [...groups]
    .filter(([prefix, names]) => prefix !== '' && names.length > 1)
    .map(([prefix, names]) => ({ prefix, names }));
}

function elementOf(spec: string, place: string): Element {
  const type = spec.replace(/^!/, '').replace(/\*$/, '');
  return {
    type,
    isComplex: /^[A-Z][A-Za-z]*$/.test(type),
    isList: spec.endsWith('*'),
    ...(type.includes('|') ? { codes: new Set(type.split('|')) } : {}),
    place,
    formatFault:
      place === 'Narrative.div' ? narrativeFault : formatFaultOf(place),
    concept: CONCEPT_CODES[place],
  };
}

/** What a walk through a resource has found so far. */
interface Found {
  root: Json;
  /** The names from the resource to the value. */
  path: string[];
  faults: R4Fault[];
}

/**
 * @param place `Type.element` that holds the value, whose type in another
 *   version may differ
 */
function walk(value: Json, type: string, place: string, found: Found): void {
  const elements = ELEMENTS.get(type);
  if (elements === undefined) return;
  const chosen = walkMembers(value, elements, { type, place }, found);
  for (const name of elements.required)
    if (!isThere(value, name)) note(found, name, NOT_DEFINED);
  for (const choice of elements.requiredChoices)
    if (!chosen.has(choice)) note(found, `${choice.prefix}[x]`, NOT_DEFINED);
  for (const { key, says, holds } of elements.invariants)
    if (!holds(value, found.root))
      note(found, undefined, `${says} (${key})`, { rule: key });
}

/** @returns the name that is there of each choice */
function walkMembers(
  value: Json,
  elements: Elements,
  of: { type: string; place: string },
  found: Found,
): ReadonlyMap<Choice, string> {
  const chosen = new Map<Choice, string>();
  for (const name in value) {
    if (name === 'resourceType' || name === 'fhir_comments') continue;
    walkMember(value, name, elements, of, found);
    if (elements.choices.size > 0) noteSecond(name, elements, chosen, found);
  }
  return chosen;
}

function walkMember(
  value: Json,
  name: string,
  { byName }: Elements,
  of: { type: string; place: string },
  found: Found,
): void {
  const part = value[name];
  const isBeside = name.startsWith('_');
  const known = byName.get(isBeside ? name.slice(1) : name);
  if (isBeside && known !== undefined && !known.isComplex) return;
  const form = Array.isArray(part) ? 'list' : isJson(part) ? 'object' : 'value';
  if (known === undefined || !hasForm(known, form)) {
    const isOfOtherVersion =
      OTHERS[of.type]?.[name] === form || OTHERS[of.place]?.[name] === form;
    note(found, name, NOT_DEFINED, { isOfOtherVersion });
  } else if (isEmpty(part)) note(found, name, 'is empty');
  else if (!Array.isArray(part)) walkItem(part, known, name, found);
  else for (const item of part as unknown[]) walkItem(item, known, name, found);
}

/** @param name undefined: the value itself is wrong, not one of its elements */
function note(
  { path, faults }: Found,
  name: string | undefined,
  says: string,
  rest: Partial<R4Fault> = {},
): void {
  const element = [...path, ...(name === undefined ? [] : [name])].join('.');
  faults.push({ element, isOfOtherVersion: false, says, ...rest });
}

const isThere = (value: Json, name: string): boolean =>
  value[name] !== undefined || value[`_${name}`] !== undefined;

function isEmpty(part: unknown): boolean {
  if (typeof part === 'string') return part.trim() === '';
  if (typeof part !== 'object' || part === null) return false;
  for (const _ in part) return false;
  return true;
}

/** Notes an element that stands beside one of the same choice. */
function noteSecond(
  member: string,
  { choices }: Elements,
  chosen: Map<Choice, string>,
  found: Found,
): void {
  const name = member.startsWith('_') ? member.slice(1) : member;
  const choice = choices.get(name);
  if (choice === undefined) return;
  const first = chosen.get(choice);
  if (first === undefined) chosen.set(choice, name);
  else if (first !== name)
    note(
      found,
      name,
      `stands beside ${first}, and only one of them may be there`,
    );
}

function walkItem(
  item: unknown,
  known: Element,
  name: string,
  found: Found,
): void {
  const { type, isComplex, place, formatFault, concept } = known;
  if (isComplex && isJson(item)) {
    if (concept !== undefined && !hasCodeOf(concept, item))
      note(found, name, 'has no code of its value set');
    found.path.push(name);
    const own = type === 'Resource' ? String(item.resourceType) : type;
    walk(item, own, place, found);
    found.path.pop();
  } else if (isComplex || !isRight(item, known)) note(found, name, NOT_DEFINED);
  else if (typeof item === 'number' && !Number.isFinite(item))
    note(found, name, 'is a number that is too large', { isHugeNumber: true });
  else if (formatFault !== undefined && item !== null) {
    const says = formatFault(item);
    if (says !== undefined) note(found, name, says);
  }
}

const hasCodeOf = (
  { system, codes }: NonNullable<Element['concept']>,
  concept: Json,
): boolean =>
  objectsOf(concept.coding).some(
    (coding) => coding.system === system && codes.includes(String(coding.code)),
  );

/**
 * Whether a primitive value is of its type. An item of a list may be null where
 * only its extension is given.
 */
const isRight = (item: unknown, { type, codes }: Element): boolean =>
  item === null ||
  (codes === undefined ? isOf(type, item) : codes.has(String(item)));

const isOf = (type: string, item: unknown): boolean =>
  type === 'number'
    ? typeof item !== 'string' && typeof item !== 'boolean'
    : typeof item === type;

function hasForm(
  { type, isComplex, isList }: Element,
  form: 'list' | 'object' | 'value',
): boolean {
  if (isList) return form === 'list';
  return (
    form === (isComplex ? 'object' : 'value') ||
    (type === 'number' && form === 'object')
  );
}
