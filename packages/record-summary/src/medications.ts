import { type Json, textOf } from './fhir/json.ts';
import {
  conceptText,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import {
  type Denial,
  idOf,
  type Lookup,
  type SummaryEntry,
} from './section.ts';

const CURRENT = ['active', 'on-hold', 'intended', 'draft', 'unknown'];

export function medicationName(
  content: Json,
  { medications }: Lookup,
): string | undefined {
  const id = idOf(content.medicationReference);
  const name =
    conceptText(content.medicationCodeableConcept) ??
    (id === undefined ? undefined : medications.get(id)) ??
    referenceText(content.medicationReference);
  return content.doNotPerform === true
    ? `Not to be given: ${name ?? 'unnamed'}`
    : name;
}

/**
 * The status of a prescription, and whether it is only planned; what a patient
 * reports as taken is not, though it has that intent.
 */
export const prescriptionStatus = ({
  status,
  intent,
  reportedBoolean,
  reportedReference,
}: Json): string =>
  unique([
    statusText(status),
    ['plan', 'proposal'].includes(String(intent)) &&
    reportedBoolean !== true &&
    reportedReference === undefined
      ? 'planned only'
      : undefined,
  ]).join(', ');

export const isCurrent = ({
  content,
}: Pick<SummaryEntry, 'content'>): boolean =>
  CURRENT.includes(textOf(content.status) ?? 'unknown');

const PRESCRIBED = ['MedicationRequest', 'MedicationStatement'];

export const isTaken: Denial = (entry) =>
  PRESCRIBED.includes(textOf(entry.content.resourceType) ?? '') &&
  isCurrent(entry) &&
  entry.content.doNotPerform !== true;
