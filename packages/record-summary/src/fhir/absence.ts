import { codeTable } from './code-table.ts';
import { codeSystem } from './codes.ts';
import type { ElementOf, ResourceType } from './elements.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { codesOf } from './words.ts';

/** The kinds of things that a source can state to be absent. */
export type AbsenceTopic =
  | 'allergies'
  | 'problems'
  | 'medications'
  | 'immunizations'
  | 'procedures'
  | 'devices';

/**
 * A source's explicit statement that there is none, or that it does not know. A
 * section without entries is no such statement.
 */
export interface AbsenceStatement {
  topic: AbsenceTopic;
  /** `No known allergies`, `No information on allergies` */
  text: string;
  /**
   * The part of the topic it covers, unless it covers all of it: FHIR's
   * category of an allergy.
   */
  category?: string;
  /**
   * True when the source states that it does not know, rather than that there
   * is none.
   */
  isUnknown: boolean;
  /** Additional text by the source. */
  quote?: string;
}

export const SNOMED = 'http://snomed.info/sct';
const DATA_ABSENT = /data-absent-reason$|v3-NullFlavor$/;

const none = (
  topic: AbsenceTopic,
  text: string,
  category?: string,
): AbsenceStatement => ({
  topic,
  text,
  category,
  isUnknown: false,
});
export const nothingKnown = (
  topic: AbsenceTopic,
  reason?: string,
): AbsenceStatement => ({
  topic,
  text: `No information on ${topic}${reason === undefined ? '' : `: ${reason}`}`,
  isUnknown: true,
});

const IPS_ABSENCE =
  'http://hl7.org/fhir/uv/ips/CodeSystem/absent-unknown-uv-ips';

const statedIn = (
  system: string,
  statements: Readonly<Record<string, AbsenceStatement>>,
): [string, AbsenceStatement][] =>
  Object.entries(statements).map(([code, statement]) => [
    `${system}|${code}`,
    statement,
  ]);

/**
 * Codes that state absence in place of a finding (SNOMED CT; International
 * Patient Summary).
 */
const CODES: ReadonlyMap<string, AbsenceStatement> = new Map([
  ...statedIn(SNOMED, {
    '716186003': none('allergies', 'No known allergies'),
    '160244002': none('allergies', 'No known allergies'),
    '409137002': none('allergies', 'No known drug allergies', 'medication'),
    '429625007': none('allergies', 'No known food allergies', 'food'),
    '428607008': none(
      'allergies',
      'No known environmental allergies',
      'environment',
    ),
    '716184000': none('allergies', 'No known latex allergy', 'latex'),
    '716220001': none('allergies', 'No known animal allergies', 'environment'),
    '160245001': none('problems', 'No current problems or disability'),
    '787481004': none('medications', 'No known medications'),
    '787482006': none('immunizations', 'No known immunizations'),
    '787480003': none('procedures', 'No known procedures'),
    '787483001': none('devices', 'No known devices'),
  }),
  ...statedIn(IPS_ABSENCE, {
    'no-known-allergies': none('allergies', 'No known allergies'),
    'no-known-medication-allergies': none(
      'allergies',
      'No known drug allergies',
      'medication',
    ),
    'no-known-food-allergies': none(
      'allergies',
      'No known food allergies',
      'food',
    ),
    'no-known-environmental-allergies': none(
      'allergies',
      'No known environmental allergies',
      'environment',
    ),
    'no-known-problems': none('problems', 'No known problems'),
    'no-known-medications': none('medications', 'No known medications'),
    'no-known-immunizations': none('immunizations', 'No known immunizations'),
    'no-known-procedures': none('procedures', 'No known procedures'),
    'no-known-devices': none('devices', 'No known devices'),
    'no-allergy-info': nothingKnown('allergies'),
    'no-problem-info': nothingKnown('problems'),
    'no-medication-info': nothingKnown('medications'),
    'no-immunization-info': nothingKnown('immunizations'),
    'no-procedure-info': nothingKnown('procedures'),
    'no-device-info': nothingKnown('devices'),
  }),
]);

/** By resource type: the topic, and the element that holds such a code. */
const CODED: {
  readonly [T in ResourceType]?: readonly [AbsenceTopic, ElementOf<T>];
} = {
  AllergyIntolerance: ['allergies', 'code'],
  Condition: ['problems', 'code'],
  MedicationStatement: ['medications', 'medicationCodeableConcept'],
  MedicationRequest: ['medications', 'medicationCodeableConcept'],
  Immunization: ['immunizations', 'vaccineCode'],
  Procedure: ['procedures', 'code'],
  Device: ['devices', 'type'],
};

const PLACES: Readonly<Record<string, readonly [AbsenceTopic, string]>> =
  codeTable(CODED);

/**
 * Codes of lists and sections: LOINC codes, and those used in FHIR's examples.
 */
const LISTS: Readonly<Record<string, AbsenceTopic>> = codeTable<
  Record<string, AbsenceTopic>
>({
  '48765-2': 'allergies',
  allergies: 'allergies',
  '11450-4': 'problems',
  problems: 'problems',
  '10160-0': 'medications',
  '29549-3': 'medications',
  medications: 'medications',
  '11369-6': 'immunizations',
  '47519-4': 'procedures',
  '46264-8': 'devices',
});

/** The topic of a section with this LOINC code. */
export const topicOfSection = (
  code: string | undefined,
): AbsenceTopic | undefined => LISTS[code ?? ''];

const NONE_OF: Readonly<Record<AbsenceTopic, string>> = {
  allergies: 'No known allergies',
  problems: 'No known problems',
  medications: 'No current medications',
  immunizations: 'No known immunizations',
  procedures: 'No known procedures',
  devices: 'No known devices',
};

/**
 * Statements of absence as text. The whole text must match: one that only
 * begins so may continue differently.
 */
const NONE_IN_WORDS =
  /^\s*(?:(?:(?:patient )?denies(?: (?:any|known|current|active)){0,2}|no(?: (?:known|current|active|reported)){0,2}) (?:(?:drug|food|medication|environmental|latex) )?(?:allerg(?:y|ies)|problems?|conditions?|medications?|immunizations?|procedures?|devices?)(?: to (?:any )?(?:drugs?|medications?|foods?))?(?: or disability)?(?: \(situation\))?|nka|nkda|nkfa|not on any medications?|none|none known)\s*\.?\s*$/i;

/** The codes of `CODES` without their systems. */
const ABSENT: ReadonlySet<string> = new Set(
  [...CODES.keys()].map((key) => key.slice(key.indexOf('|') + 1)),
);

/**
 * The statements of absence in a resource; empty for a resource about something
 * that is present.
 */
export function absencesIn(resource: Json): AbsenceStatement[] {
  const type = textOf(resource.resourceType) ?? '';
  if (type === 'List')
    return emptyReasonOf(resource, resource.status !== 'current');
  if (type === 'Composition')
    return sectionsOf(resource).flatMap((section) =>
      emptyReasonOf(section, resource.status === 'entered-in-error'),
    );
  const place = PLACES[type];
  if (place === undefined) return [];
  const [topic, element] = place;
  const statement = statementOf(topic, resource[element]);
  return statement === undefined || isTakenBack(resource) ? [] : [statement];
}

function statementOf(
  topic: AbsenceTopic,
  concept: unknown,
): AbsenceStatement | undefined {
  if (!isJson(concept)) return undefined;
  const codings = objectsOf(concept.coding);
  for (const { system, code } of codings) {
    // Of most codes, no system says that there is none.
    if (!ABSENT.has(String(code))) continue;
    const statement = CODES.get(`${codeSystem(system)}|${textOf(code) ?? ''}`);
    if (statement?.topic === topic) return statement;
  }
  const words =
    textOf(concept.text) ??
    codings.map(({ display }) => textOf(display)).find(Boolean);
  // A sender's own code for "No known allergies" codes no allergy.
  const isCoded = codings.some(
    ({ system, code, display }) =>
      code !== undefined &&
      !DATA_ABSENT.test(String(system)) &&
      !NONE_IN_WORDS.test(textOf(display) ?? String(code)),
  );
  if (isCoded) return undefined;
  if (words !== undefined && NONE_IN_WORDS.test(words))
    return noneInWords(topic, words);
  const isSaidToBeAbsent =
    codings.some(({ system }) => DATA_ABSENT.test(String(system))) ||
    [concept, ...codings].some(({ extension }) =>
      objectsOf(extension).some(({ url }) => DATA_ABSENT.test(String(url))),
    );
  // A concept with a text names something, even without a code.
  return isSaidToBeAbsent && textOf(concept.text) === undefined
    ? nothingKnown(topic)
    : undefined;
}

function noneInWords(topic: AbsenceTopic, words: string): AbsenceStatement {
  const category = /drug|medication|nkda/i.test(words)
    ? 'medication'
    : /food|nkfa/i.test(words)
      ? 'food'
      : /environmental/i.test(words)
        ? 'environment'
        : undefined;
  return none(
    topic,
    words.trim().replace(/\s*\.$/, ''),
    topic === 'allergies' ? category : undefined,
  );
}

const REASONS: Readonly<Record<string, string>> = codeTable({
  notasked: 'not asked',
  withheld: 'withheld',
  unavailable: 'unavailable',
  notstarted: 'not recorded yet',
  closed: 'the list is closed',
});

function emptyReasonOf(
  { code, emptyReason }: Json,
  isTakenBack: boolean,
): AbsenceStatement[] {
  if (!isJson(emptyReason) || isTakenBack) return [];
  const topic = codesOf(code).map(topicOfSection).find(Boolean);
  if (topic === undefined) return [];
  const reason = codesOf(emptyReason)[0] ?? '';
  const quote = textOf(emptyReason.text);
  if (quote !== undefined && NONE_IN_WORDS.test(quote))
    return [noneInWords(topic, quote)];
  if (reason === 'nilknown') return [{ ...none(topic, NONE_OF[topic]), quote }];
  if (quote === undefined) return [nothingKnown(topic, REASONS[reason])];
  // Free text may say more than that there is no entry, so it is quoted without
  // interpretation.
  return [
    { topic, text: `The list of ${topic} is empty`, isUnknown: true, quote },
  ];
}

const sectionsOf = (of: Json): Json[] =>
  objectsOf(of.section).flatMap((section) => [section, ...sectionsOf(section)]);

/**
 * Whether the statement was refuted, entered in error, or no longer applies.
 */
function isTakenBack({
  status,
  clinicalStatus,
  verificationStatus,
}: Json): boolean {
  const codes = [...codesOf(clinicalStatus), ...codesOf(verificationStatus)];
  return (
    status === 'entered-in-error' ||
    codes.some((code) =>
      [
        'inactive',
        'resolved',
        'remission',
        'refuted',
        'entered-in-error',
      ].includes(code),
    )
  );
}
