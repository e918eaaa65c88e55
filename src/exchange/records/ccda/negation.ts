import { absencesIn, SNOMED } from '../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';

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
    case 'MedicationStatement':
      return notTaken(resource, day);
    case 'MedicationRequest':
    case 'ServiceRequest':
      return { ...resource, doNotPerform: true };
    case 'Observation':
      return notFound(resource);
    default:
      return undefined;
  }
}

function refuted(resource: Json, kind: 'allergyintolerance' | 'condition', day: string | undefined): Json {
  const { reaction: _reaction, evidence: _evidence, ...rest } = resource;
  const hasDate = resource.recordedDate !== undefined || resource.onsetDateTime !== undefined;
  const dated = hasDate ? rest : { ...rest, recordedDate: day };
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
function notTaken({ dosage: _dosage, ...statement }: Json, day: string | undefined): Json {
  const { medicationCodeableConcept, medicationReference } = statement;
  const isAny = codesOf(medicationCodeableConcept).some((code) => ANY_DRUG.includes(code));
  const isSpecified =
    codesOf(medicationCodeableConcept).length > 0 ||
    hasText(medicationCodeableConcept) ||
    medicationReference !== undefined;
  const none = isAny
    ? concept(SNOMED, '787481004', 'No known medications')
    : isSpecified
      ? undefined
      : UNSPECIFIED;
  return {
    ...statement,
    status: none === undefined ? 'not-taken' : 'unknown',
    ...(none === undefined ? {} : { medicationCodeableConcept: none }),
    dateAsserted: statement.dateAsserted ?? day,
  };
}

const codesOf = (of: unknown): string[] =>
  isJson(of) ? objectsOf(of.coding).flatMap(({ code }) => textOf(code) ?? []) : [];
const hasText = (of: unknown): boolean => isJson(of) && textOf(of.text) !== undefined;

/** A finding or value that was not there. */
function notFound(observation: Json): Json {
  const { interpretation: _interpretation, component: _component, ...rest } = observation;
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
