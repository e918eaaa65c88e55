import { codeSystem } from './fhir/codes.ts';
import { isJson, type Json, objectsOf, textOf } from './fhir/json.ts';
import { marksOf } from './fhir/modifiers.ts';
import {
  conceptText,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import { markedName } from './observation.ts';
import {
  type Denial,
  idOf,
  type Lookup,
  type SummaryEntry,
} from './section.ts';

const CURRENT = ['active', 'on-hold', 'intended', 'draft', 'unknown'];
/** Intents of what nobody has ordered. */
const NOT_ORDERED = ['option', 'proposal'];

export function medicationName(
  content: Json,
  { medications }: Lookup,
): string | undefined {
  const id = idOf(content.medicationReference);
  const contained = objectsOf(content.contained).find(
    (each) => each.id === id?.slice(1),
  );
  const name =
    conceptText(content.medicationCodeableConcept) ??
    (id === undefined ? undefined : medications.get(id)) ??
    (contained && markedName(contained)) ??
    referenceText(content.medicationReference);
  return content.doNotPerform === true
    ? `Not to be given: ${name ?? 'unnamed'}`
    : name;
}

/** RxNorm's codes of what a medication resource is about. */
export function productCodes(
  { medicationCodeableConcept, medicationReference, contained }: Json,
  { medicationCodes }: Lookup,
): readonly string[] {
  const id = idOf(medicationReference);
  const own = objectsOf(contained).find((each) => each.id === id?.slice(1));
  const stated = rxNormCodes(medicationCodeableConcept ?? own?.code);
  return stated.length > 0 || id === undefined
    ? stated
    : (medicationCodes?.get(id) ?? []);
}

export const rxNormCodes = (concept: unknown): string[] =>
  (isJson(concept) ? objectsOf(concept.coding) : []).flatMap(
    ({ system, code }) =>
      codeSystem(system) === RXNORM ? (textOf(code) ?? []) : [],
  );
const RXNORM = 'http://www.nlm.nih.gov/research/umls/rxnorm';

/** The status of a prescription, and what else is marked about it. */
export function prescriptionStatus(content: Json): string {
  const status = statusText(content.status);
  const others = marksOf(content).words.filter(
    (word) => word !== status?.toLowerCase(),
  );
  return unique([status, ...others]).join(', ');
}

/** Whether a prescription is an order, a plan or a report of what is taken. */
export const isOrdered = ({ intent }: Json): boolean =>
  !NOT_ORDERED.includes(String(intent));

export const isCurrent = ({
  content,
}: Pick<SummaryEntry, 'content'>): boolean =>
  CURRENT.includes(textOf(content.status) ?? 'unknown') &&
  isOrdered(content) &&
  !hasEnded(content);

/**
 * Whether the end that is stated for taking a drug has passed, though its
 * source, which may have said so before that day, has it as active.
 */
function hasEnded({
  effectivePeriod,
  dosageInstruction,
  dosage,
}: Json): boolean {
  const taken = isJson(effectivePeriod) ? effectivePeriod.end : undefined;
  const limits = objectsOf(dosageInstruction ?? dosage).map(endOfDirections);
  const ends = taken === undefined ? limits : [taken];
  return ends.length > 0 && ends.every(isPast);
}

function endOfDirections({ timing }: Json): unknown {
  const { repeat } = isJson(timing) ? timing : {};
  const { boundsPeriod } = isJson(repeat) ? repeat : {};
  return isJson(boundsPeriod) ? boundsPeriod.end : undefined;
}

/** Compared with the precision in which it is stated. */
function isPast(end: unknown): boolean {
  const day = textOf(end)?.slice(0, 10);
  return (
    day !== undefined && day < new Date().toISOString().slice(0, day.length)
  );
}

const PRESCRIBED = ['MedicationRequest', 'MedicationStatement'];

export const isTaken: Denial = (entry) =>
  PRESCRIBED.includes(textOf(entry.content.resourceType) ?? '') &&
  isCurrent(entry) &&
  entry.content.doNotPerform !== true;
