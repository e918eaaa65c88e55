import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { asObserved } from './as-observed.ts';
import { asRequest } from './as-request.ts';
import { fhirPeriod, fhirTime } from './fhir-times.ts';
import type { NamedStatements } from './named-statements.ts';
import { isPlanned, type Statement, statusOf, subjectOf } from './statements.ts';

/**
 * Corrects a resource by the statement it was made of. The converter takes what is only planned for done, gives most resources the
 * status of the usual case, and leaves out much of a result.
 *
 * @param day day of the document
 */
export function asStated(resource: Json, statements: NamedStatements, day: string | undefined): Json {
  const statement = statements.get(textOf(resource.id) ?? '');
  if (statement === undefined) return resource;
  if (
    isPlanned(statement.node) &&
    ['Observation', 'Goal', 'Procedure'].includes(String(resource.resourceType))
  ) {
    const isGoal = resource.resourceType === 'Goal' && statement.node['@_moodCode'] === 'GOL';
    if (!isGoal) return asRequest(resource, statement.node);
  }
  const correct = CORRECTIONS[textOf(resource.resourceType) ?? ''];
  return correct === undefined ? resource : { ...resource, ...correct(statement, resource, day) };
}

const CORRECTIONS: Readonly<
  Record<string, (statement: Statement, resource: Json, day: string | undefined) => Json>
> = {
  AllergyIntolerance: ({ node }) => ({
    clinicalStatus: clinicalStatus('allergyintolerance-clinical', subjectOf(node), statusOf(node)),
  }),
  CarePlan: ({ node }) => ({ status: CARE_PLAN_STATUSES[statusOf(node) ?? ''] ?? 'unknown' }),
  Condition: ({ kind, node }) => (kind === 'act' ? problem(node) : reason(node)),
  Encounter: ({ node }, { diagnosis, status, period }) => ({
    status: isPlanned(node) && status !== 'cancelled' ? 'planned' : status,
    period: period ?? fhirPeriod(node.effectiveTime),
    // That it is the admission diagnosis is not said.
    diagnosis: diagnosis && objectsOf(diagnosis).map(({ use: _use, ...rest }) => rest),
  }),
  Immunization: ({ node }, { occurrenceDateTime }) => ({
    occurrenceDateTime: occurrenceDateTime ?? fhirPeriod(node.effectiveTime)?.start,
  }),
  MedicationRequest: ({ node, section }, _, day) => ({
    status: medicationStatus(node, day),
    intent: section === 'plan' ? (PLANNED_INTENTS[textOf(node['@_moodCode']) ?? ''] ?? 'plan') : 'order',
  }),
  Observation: ({ node }, observation) => asObserved(observation, node),
  Procedure: ({ node }) => ({ status: PROCEDURE_STATUSES[statusOf(node) ?? ''] ?? 'unknown' }),
};

/**
 * The status of a drug. "Completed" may mean only that the entry was written (C-CDA on FHIR, Medications, "Medication Status"): it
 * means the end of taking if the end is stated and not after the document. Without an end it is unknown whether the drug is still taken.
 */
function medicationStatus(node: Json, day: string | undefined): string {
  const status = MEDICATION_STATUSES[statusOf(node) ?? ''] ?? 'unknown';
  if (status !== 'completed') return status;
  const end = fhirPeriod(objectsOf(node.effectiveTime).slice(0, 1))?.end?.slice(0, 10);
  return end === undefined ? 'unknown' : day !== undefined && end > day ? 'active' : status;
}

const MEDICATION_STATUSES: Readonly<Record<string, string>> = {
  active: 'active',
  aborted: 'stopped',
  cancelled: 'cancelled',
  completed: 'completed',
  held: 'on-hold',
  new: 'draft',
  obsolete: 'cancelled',
  ordered: 'active',
  suspended: 'on-hold',
};
/** In a plan; in a list of medications, an intention is a prescription. */
const PLANNED_INTENTS: Readonly<Record<string, string>> = { PRP: 'proposal', RQO: 'order' };
const PROCEDURE_STATUSES: Readonly<Record<string, string>> = {
  active: 'in-progress',
  aborted: 'stopped',
  cancelled: 'not-done',
  completed: 'completed',
  held: 'on-hold',
  new: 'preparation',
  suspended: 'on-hold',
};
const CARE_PLAN_STATUSES: Readonly<Record<string, string>> = {
  active: 'active',
  aborted: 'revoked',
  cancelled: 'revoked',
  completed: 'completed',
  held: 'on-hold',
  new: 'draft',
  suspended: 'on-hold',
};

/** Codes of Problem Status and Allergy Status. */
const STATUS_VALUES: Readonly<Record<string, string>> = {
  '55561003': 'active',
  '246455001': 'recurrence',
  '263855007': 'relapse',
  '73425007': 'inactive',
  '277022003': 'remission',
  '413322009': 'resolved',
  '723506003': 'resolved',
};
const STATUS_OBSERVATION = '33999-4';
const ALLERGY_STATUSES = ['active', 'inactive', 'resolved'];

/**
 * As C-CDA on FHIR has it: a status observation decides; without one, a concern that is not active any more is inactive. An end that
 * is only said to be unknown (`high` with a null flavor) decides nothing: vendors write it with what is still active.
 *
 * @param concern status of the concern around the observation
 */
function clinicalStatus(system: string, observation: Json | undefined, concern: string | undefined): Json {
  const stated = objectsOf(observation?.entryRelationship)
    .flatMap((relationship) => objectsOf(relationship.observation))
    .find(({ code }) => isJson(code) && code['@_code'] === STATUS_OBSERVATION);
  const value = STATUS_VALUES[textOf(objectsOf(stated?.value)[0]?.['@_code']) ?? ''];
  const isKnown =
    value !== undefined && (system !== 'allergyintolerance-clinical' || ALLERGY_STATUSES.includes(value));
  const code = isKnown
    ? value
    : ['aborted', 'completed', 'suspended'].includes(concern ?? '')
      ? 'inactive'
      : 'active';
  return concept(`http://terminology.hl7.org/CodeSystem/${system}`, code);
}

const concept = (system: string, code: string): Json => ({ coding: [{ system, code }] });

const problem = (act: Json): Json => ({
  clinicalStatus: clinicalStatus('condition-clinical', subjectOf(act), statusOf(act)),
});

/** The reason for an encounter: a condition at that time, of which nothing says that it still is one. */
function reason(observation: Json): Json {
  const high = objectsOf(objectsOf(observation.effectiveTime)[0]?.high)[0];
  return {
    category: [concept('http://terminology.hl7.org/CodeSystem/condition-category', 'encounter-diagnosis')],
    abatementDateTime: fhirTime(textOf(high?.['@_value'])),
    clinicalStatus: undefined,
  };
}
