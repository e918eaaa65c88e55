import type {
  DiagnosticReport,
  DocumentReference,
  MedicationDispense,
  Observation,
} from 'fhir/r4.js';
import { hl7Table } from './lookup-table.ts';

type RankedStatus =
  | Observation['status']
  | DiagnosticReport['status']
  | MedicationDispense['status']
  | NonNullable<DocumentReference['docStatus']>;

/**
 * Ranks of results, medication fills and documents by the status of their
 * resource; all other statuses rank as `final`.
 */
const RANKS: Readonly<Record<string, number>> = hl7Table({
  registered: 1,
  preliminary: 1,
  partial: 1,
  unknown: 1,
  'in-progress': 1,
  preparation: 1,
  appended: 3,
  amended: 3,
  corrected: 3,
  'entered-in-error': 3,
} satisfies Partial<Record<RankedStatus, number>>);

const FINAL_RANK = 2;

/**
 * Which of two versions of a result that were sent at the same time is the
 * newer one: a correction or withdrawal over a final result, and that over a
 * preliminary one. Versions of equal rank count in their order of arrival.
 */
export const statusRank = (status: unknown): number =>
  RANKS[String(status)] ?? FINAL_RANK;
