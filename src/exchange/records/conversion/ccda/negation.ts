import { absencesIn, codesOf, SNOMED } from '../../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../../rules/json.ts';
import { conceptOf, MAPS, namedConcept } from './table.ts';

const UNSPECIFIED = conceptOf('data-absent-reason', 'unknown');
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
  const none = codes.map((code) => MAPS.NoneAtAll[code]).find((found) => found !== undefined);
  if (none !== undefined) return { ...dated, code: namedConcept(SNOMED, none) };
  if (codes.length === 0 && !hasText(resource.code)) return { ...dated, code: UNSPECIFIED };
  if (absencesIn(resource).length > 0) return dated;
  return {
    ...dated,
    clinicalStatus: conceptOf(`${kind}-clinical`, 'inactive'),
    verificationStatus: conceptOf(
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
  const none = isAny ? namedConcept(SNOMED, '787481004') : isSpecified ? undefined : UNSPECIFIED;
  return {
    ...statement,
    status: none === undefined ? 'not-taken' : 'unknown',
    ...(none === undefined ? {} : { medicationCodeableConcept: none }),
    dateAsserted: statement.dateAsserted ?? day,
  };
}

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
    ? { ...kept, dataAbsentReason: conceptOf('data-absent-reason', 'not-performed') }
    : { ...kept, valueString: `Not: ${value}` };
}
