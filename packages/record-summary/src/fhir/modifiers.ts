import { codeTable } from './code-table.ts';
import type { ElementPath, ResourceType } from './elements.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { codesOf, conceptText, unique } from './words.ts';

/** What changes the meaning of a resource, so that no reader may overlook it. */
interface Marks {
  /**
   * In words: `entered in error`, `not to be given`. None for what is as it
   * looks.
   */
  words: readonly string[];
  /**
   * The modifier extensions in it: nobody here knows what they make of it, so it
   * is not listed among what is understood.
   */
  notUnderstood: readonly string[];
}

/**
 * What is marked about a resource: by every element of FHIR R4 that is a
 * modifier (`isModifier`) and every `modifierExtension`, of the types that a
 * record holds. Each door says it by this function.
 */
export function marksOf(resource: Json): Marks {
  const known = marks.get(resource);
  if (known !== undefined) return known;
  const read = readMarks(resource);
  marks.set(resource, read);
  return read;
}

/** A resource is asked for its marks by each table that may show it. */
const marks = new WeakMap<Json, Marks>();

/** Whether nothing changes the meaning of a resource in an unknown way. */
export const isUnderstood = (resource: Json): boolean =>
  marksOf(resource).notUnderstood.length === 0;

/** What one element says that a reader must know; undefined if it is usual. */
type Reading = (value: unknown, resource: Json) => string | undefined;

/** A code or concept in words, unless it is one of the usual ones. */
const unless =
  (...usual: readonly string[]) =>
  (value: unknown): string | undefined => {
    const [code = textOf(value)?.toLowerCase()] = isJson(value)
      ? codesOf(value)
      : [];
    const text = conceptText(value) ?? textOf(value);
    if (text === undefined || usual.includes(code ?? text.toLowerCase()))
      return undefined;
    const words = text.replaceAll('-', ' ').toLowerCase();
    return words === 'unknown' ? 'status unknown' : words;
  };

const ifTrue =
  (words: string) =>
  (value: unknown): string | undefined =>
    value === true ? words : undefined;

const ifFalse =
  (words: string): Reading =>
  (value) =>
    value === false ? words : undefined;

const INTENTS: Readonly<Record<string, string>> = codeTable({
  directive: 'a directive, not an order',
  option: 'an option, not an order',
  plan: 'planned only',
  proposal: 'proposed only',
});

/** Any other intent is an order. */
const intent = (value: unknown): string | undefined =>
  INTENTS[textOf(value) ?? ''];

const active = ifFalse('no longer in use');
const notToBeDone = ifTrue('not to be done');

const LINKS: Readonly<Record<string, string>> = codeTable({
  'replaced-by': 'replaced by another Patient',
  replaces: 'replaces another Patient',
  refer: 'refers to another Patient',
  seealso: 'see also another Patient',
});

const event = unless('completed');
const order = unless('active', 'completed');
const claim = unless('active');

/**
 * The modifiers of FHIR R4 by type, and what is said of them. `Patient` has its
 * death elsewhere (`lifeOf`), and names, addresses and amounts say their own
 * (`use`, `comparator`).
 */
const MODIFIERS = {
  AdverseEvent: { actuality: unless('actual') },
  AllergyIntolerance: {
    clinicalStatus: unless('active'),
    verificationStatus: unless('confirmed'),
  },
  Appointment: { status: unless('booked', 'fulfilled') },
  BodyStructure: { active },
  CarePlan: {
    status: unless('active'),
    intent,
    'activity.detail': (detail, plan) =>
      isJson(detail) ? activityMarks(detail, plan) : undefined,
  },
  CareTeam: { status: unless('active') },
  Claim: { status: claim },
  ClinicalImpression: { status: event },
  Communication: { status: event },
  CommunicationRequest: { status: order, doNotPerform: notToBeDone },
  Composition: { status: unless('final') },
  Condition: {
    clinicalStatus: unless('active'),
    verificationStatus: unless('confirmed'),
  },
  Consent: {
    status: unless('active'),
    scope: (scope) => conceptText(scope)?.toLowerCase(),
  },
  Coverage: { status: unless('active') },
  DetectedIssue: { status: unless('final') },
  Device: { status: unless('active') },
  DeviceRequest: { status: order, intent },
  DeviceUseStatement: { status: order },
  DiagnosticReport: { status: unless('final') },
  DocumentReference: { status: unless('current') },
  Encounter: { status: unless('finished') },
  Endpoint: { status: unless('active') },
  EpisodeOfCare: { status: unless('active', 'finished') },
  ExplanationOfBenefit: { status: claim },
  FamilyMemberHistory: { status: event },
  Flag: { status: unless('active') },
  Goal: { lifecycleStatus: unless('active') },
  HealthcareService: { active },
  ImagingStudy: { status: unless('available') },
  Immunization: {
    status: event,
    isSubpotent: ifTrue('subpotent: no full dose'),
  },
  ImmunizationEvaluation: { status: event },
  ImmunizationRecommendation: {
    'recommendation.forecastStatus': unless(),
  },
  List: {
    status: unless('current'),
    mode: unless('working', 'snapshot'),
    'entry.deleted': ifTrue('with entries that were removed'),
  },
  Location: { status: unless('active') },
  Media: { status: event },
  Medication: { status: unless('active') },
  MedicationAdministration: { status: event },
  MedicationDispense: { status: event },
  // A list without a status says `unknown`: the collector says it of all or none.
  MedicationRequest: {
    status: unless('active', 'unknown'),
    intent: (code, { reportedBoolean, reportedReference }) =>
      reportedBoolean === true || reportedReference !== undefined
        ? undefined
        : intent(code),
    doNotPerform: ifTrue('not to be given'),
  },
  MedicationStatement: { status: unless('active', 'unknown') },
  NutritionOrder: { status: order, intent },
  Observation: { status: unless('final') },
  Organization: { active },
  Patient: {
    active,
    'link.type': (type) => LINKS[textOf(type) ?? ''],
  },
  Procedure: { status: event },
  QuestionnaireResponse: { status: event },
  RelatedPerson: { active },
  ServiceRequest: {
    status: order,
    intent,
    doNotPerform: notToBeDone,
  },
  Specimen: { status: unless('available', 'unavailable') },
  Substance: { status: unless('active') },
  SupplyDelivery: { status: event },
  SupplyRequest: { status: order },
  Task: { status: event },
  VisionPrescription: { status: unless('active') },
} satisfies {
  readonly [T in ResourceType]?: {
    readonly [P in ElementPath<T>]?: Reading;
  };
};

/** What is marked about an activity of a plan, `detail`. */
export const activityMarks = (
  { doNotPerform, status }: Json,
  plan: Json,
): string | undefined =>
  unique([
    notToBeDone(doNotPerform),
    status === plan.status ? undefined : activityStatus(status),
  ]).join(', ') || undefined;

const activityStatus = unless('in-progress');

interface Modifier {
  element: string;
  member: string | undefined;
  reading: Reading;
}

const BY_TYPE: ReadonlyMap<string, readonly Modifier[]> = new Map(
  Object.entries<Readonly<Record<string, Reading>>>(MODIFIERS).map(
    ([type, readings]) => [
      type,
      Object.entries(readings).map(([path, reading]) => {
        const [element = '', member] = path.split('.');
        return { element, member, reading };
      }),
    ],
  ),
);

const NONE: readonly string[] = [];
const UNMARKED: Marks = { words: NONE, notUnderstood: NONE };

function readMarks(resource: Json): Marks {
  const words: string[] = [];
  const say = (said: string | undefined) => {
    if (said !== undefined) words.push(said);
  };
  for (const { element, member, reading } of BY_TYPE.get(
    String(resource.resourceType),
  ) ?? []) {
    const value = resource[element];
    if (value === undefined) continue;
    if (member === undefined) say(reading(value, resource));
    else
      for (const each of objectsOf(value)) say(reading(each[member], resource));
  }

  for (const { url, valueBoolean } of objectsOf(resource.modifierExtension))
    if (url === DO_NOT_PERFORM && valueBoolean === true)
      words.push('not to be done');

  const rules = textOf(resource.implicitRules);
  if (rules !== undefined) words.push(`by rules of its own: ${rules}`);

  const notUnderstood = unknownModifiersIn(resource);
  return words.length === 0 && notUnderstood.length === 0
    ? UNMARKED
    : { words: unique(words), notUnderstood: unique(notUnderstood) };
}

/** The one modifier extension that R4 itself defines for what records hold. */
const DO_NOT_PERFORM =
  'http://hl7.org/fhir/StructureDefinition/request-doNotPerform';

/** The addresses of the modifier extensions of an element and of its parts. */
function unknownModifiersIn(part: Json, found: string[] = []): string[] {
  for (const name in part) {
    const value = part[name];
    if (typeof value !== 'object' || value === null) continue;
    if (name === 'modifierExtension')
      found.push(...objectsOf(value).filter(isUnknown).map(addressOf));
    else if (!PLAIN.has(name))
      for (const each of objectsOf(value)) unknownModifiersIn(each, found);
  }
  return found;
}

const isUnknown = ({ url, valueBoolean }: Json): boolean =>
  url !== DO_NOT_PERFORM || typeof valueBoolean !== 'boolean';
const addressOf = ({ url }: Json): string =>
  textOf(url) ?? 'an extension without an address';

/**
 * Elements in which FHIR knows no modifier extension, and which are many: of
 * data types, in every resource that has one of the name.
 */
const PLAIN: ReadonlySet<string> = new Set([
  'category',
  'code',
  'coding',
  'effectivePeriod',
  'encounter',
  'extension',
  'identifier',
  'meta',
  'patient',
  'period',
  'subject',
  'text',
  'valueCodeableConcept',
  'valueQuantity',
]);
