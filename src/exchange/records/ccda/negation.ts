import { absencesIn, SNOMED } from '../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import {
  isNegated,
  isNegatedEntry,
  isNegatedPart,
  isNull,
  STATEMENTS,
  sectionsOf,
  subjectOf,
} from './statements.ts';

type Node = Record<string, unknown>;

/** Kinds of entry whose negation can be expressed in FHIR; an encounter or supply that did not happen cannot. */
const NEGATABLE = ['act', 'observation', 'organizer', 'procedure', 'substanceAdministration'];

/** Marks a negated order so that the mark survives the converter, in place of a reference into the narrative. */
const NOT_TO_BE = '#not-to-be-given';

/** Removes, in place, entries with a nullFlavor: the converter would turn them into positive statements. */
export function dropNullEntries(document: Json): void {
  for (const section of sectionsOf(document) as Node[])
    if (section.entry !== undefined)
      section.entry = objectsOf(section.entry).filter((entry) => !isNull(entry));
}

/**
 * Removes negated entries (`negationInd`) from a parsed document, in place, because the converter would turn them into
 * positive statements. Returns them as a separate document, and the number of entries that cannot be expressed. `negated`
 * corrects the resources converted from that document.
 */
export function takeNegated(document: Json): { denied: Json; leftOut: number } {
  const denied = structuredClone(document);
  const deniedSections = sectionsOf(denied) as Node[];
  let leftOut = 0;
  for (const [index, section] of (sectionsOf(document) as Node[]).entries()) {
    section.entry = objectsOf(section.entry).filter((entry) => !isNegatedEntry(entry));
    objectsOf(section.entry).forEach(dropNegatedParts);
    const ownSection = deniedSections[index];
    if (ownSection === undefined) continue;
    const deniedEntries = objectsOf(ownSection.entry).flatMap((entry) =>
      isNegatedEntry(entry) ? [entry] : deniedPanels(entry),
    );
    const negatable = deniedEntries.filter((entry) => NEGATABLE.some((kind) => entry[kind] !== undefined));
    negatable.forEach(dropDetails);
    ownSection.entry = negatable;
    leftOut += deniedEntries.length - negatable.length;
  }
  return { denied, leftOut };
}

function dropNegatedParts(node: Json): void {
  for (const name of ['component', 'entryRelationship'])
    if (node[name] !== undefined)
      (node as Node)[name] = objectsOf(node[name]).filter((part) => !isNegatedPart(part));
  for (const name of [...STATEMENTS, 'component', 'entryRelationship'])
    objectsOf(node[name]).forEach(dropNegatedParts);
}

/** Panels that contain negated results, reduced to these results. */
function deniedPanels(entry: Json): Json[] {
  const panels = objectsOf(entry.organizer).flatMap((organizer) => {
    const component = objectsOf(organizer.component).filter(({ observation }) =>
      objectsOf(observation).some(isNegated),
    );
    return component.length === 0 ? [] : [{ ...organizer, component }];
  });
  return panels.length === 0 ? [] : [{ organizer: panels }];
}

/** Removes the details of a negated statement: it is unclear whether the negation covers them. */
function dropDetails(entry: Json): void {
  const observations = [
    ...objectsOf(entry.observation),
    ...objectsOf(entry.act).map(subjectOf).filter(isJson),
    ...objectsOf(entry.organizer)
      .flatMap(({ component }) => objectsOf(component))
      .flatMap(({ observation }) => objectsOf(observation)),
  ] as Node[];
  for (const observation of observations) delete observation.entryRelationship;
  for (const administration of objectsOf(entry.substanceAdministration) as Node[]) {
    delete administration.text;
    if (administration['@_moodCode'] === 'INT') administration.text = { reference: { '@_value': NOT_TO_BE } };
  }
}

const concept = (system: string, code: string, display: string): Json => ({
  coding: [{ system, code, display }],
  text: display,
});
const status = (system: string, code: string): Json => ({
  coding: [{ system: `http://terminology.hl7.org/CodeSystem/${system}`, code }],
});

/** General codes ("allergy", "problem"): negating one states that there is none at all, which has a code of its own. */
export const NONE_AT_ALL: Readonly<Record<string, readonly [code: string, display: string]>> = {
  '419199007': ['716186003', 'No known allergy'],
  '106190000': ['716186003', 'No known allergy'],
  '420134006': ['716186003', 'No known allergy'],
  '418038007': ['716186003', 'No known allergy'],
  '416098002': ['409137002', 'No known drug allergy'],
  '419511003': ['409137002', 'No known drug allergy'],
  '414285001': ['429625007', 'No known food allergy'],
  '418471000': ['429625007', 'No known food allergy'],
  '426232007': ['428607008', 'No known environmental allergy'],
  '55607006': ['160245001', 'No current problems or disability'],
  '64572001': ['160245001', 'No current problems or disability'],
};
const UNSPECIFIED = status('data-absent-reason', 'unknown');
const ANY_DRUG = ['410942007', '763158003', '105590001'];

/**
 * The negation of a resource: none known, refuted, not done, not taken. Undefined when the negation has no meaning.
 *
 * @param day day of the document, for statements without a date
 */
export function negated(resource: Json, day: string | undefined): Json | undefined {
  switch (resource.resourceType) {
    case 'AllergyIntolerance':
      return refuted(resource, 'allergyintolerance', day);
    case 'Condition':
      return refuted(resource, 'condition', day);
    case 'Immunization':
    case 'Procedure':
      return { ...resource, status: 'not-done' };
    case 'MedicationRequest':
      return notTaken(resource, day);
    case 'ServiceRequest':
      return { ...resource, doNotPerform: true };
    case 'Observation':
      return resource.hasMember === undefined ? notFound(resource) : undefined;
    default:
      return undefined;
  }
}

function refuted(resource: Json, kind: 'allergyintolerance' | 'condition', day: string | undefined): Json {
  const hasDate = resource.recordedDate !== undefined || resource.onsetDateTime !== undefined;
  const dated = hasDate ? resource : { ...resource, recordedDate: day };
  const codes = codesOf(resource.code);
  const none = codes.map((code) => NONE_AT_ALL[code]).find((found) => found !== undefined);
  if (none !== undefined) return { ...dated, code: concept(SNOMED, ...none) };
  if (codes.length === 0 && !hasText(resource.code)) return { ...dated, code: UNSPECIFIED };
  if (absencesIn(resource).length > 0) return dated;
  return {
    ...dated,
    clinicalStatus: status(`${kind}-clinical`, 'inactive'),
    verificationStatus: status(
      kind === 'condition' ? 'condition-ver-status' : 'allergyintolerance-verification',
      'refuted',
    ),
  };
}

/** A negated medication: no medication at all, an unspecified one, or this one is not taken. */
function notTaken(request: Json, day: string | undefined): Json {
  const { medicationCodeableConcept, medicationReference, contained, dispenseRequest } = request;
  const codes = codesOf(medicationCodeableConcept);
  const isAny = codes.some((code) => ANY_DRUG.includes(code));
  const isSpecified =
    codes.length > 0 || hasText(medicationCodeableConcept) || medicationReference !== undefined;
  const isOrder = JSON.stringify(request.extension ?? '').includes(NOT_TO_BE);
  if (isOrder && isSpecified && !isAny) return { ...request, doNotPerform: true };
  const none = isAny
    ? concept(SNOMED, '787481004', 'No known medications')
    : isSpecified
      ? undefined
      : UNSPECIFIED;
  return {
    resourceType: 'MedicationStatement',
    id: request.id,
    status: none === undefined ? 'not-taken' : 'unknown',
    subject: request.subject,
    ...(none === undefined
      ? { medicationCodeableConcept, medicationReference, contained }
      : { medicationCodeableConcept: none }),
    effectivePeriod: isJson(dispenseRequest) ? dispenseRequest.validityPeriod : undefined,
    dateAsserted: request.authoredOn ?? day,
  };
}

const codesOf = (of: unknown): string[] =>
  isJson(of) ? objectsOf(of.coding).flatMap(({ code }) => textOf(code) ?? []) : [];
const hasText = (of: unknown): boolean => isJson(of) && textOf(of.text) !== undefined;

function notFound(observation: Json): Json {
  const { interpretation: _interpretation, ...rest } = observation;
  const kept = Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('value')));
  const { valueCodeableConcept, valueString, valueQuantity } = rest;
  const value = isJson(valueCodeableConcept)
    ? (textOf(valueCodeableConcept.text) ?? textOf(objectsOf(valueCodeableConcept.coding)[0]?.code))
    : isJson(valueQuantity)
      ? [valueQuantity.value, valueQuantity.unit].filter((part) => part !== undefined).join(' ')
      : textOf(valueString);
  return value === undefined
    ? { ...kept, dataAbsentReason: status('data-absent-reason', 'not-performed') }
    : { ...kept, valueString: `Not: ${value}` };
}
