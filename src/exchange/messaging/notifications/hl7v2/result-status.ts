import type { DiagnosticReport, Observation } from 'fhir/r4.js';

/** HL7 table 0085 (OBX-11). O and N are no results: the order's own data, and a question not asked. */
const OBSERVATIONS: Readonly<Record<string, Observation['status']>> = {
  A: 'amended',
  B: 'amended',
  C: 'corrected',
  D: 'entered-in-error',
  F: 'final',
  I: 'registered',
  P: 'preliminary',
  R: 'preliminary',
  S: 'preliminary',
  U: 'final',
  V: 'final',
  W: 'entered-in-error',
  X: 'cancelled',
};

/** HL7 table 0123 (OBR-25). */
const REPORTS: Readonly<Record<string, DiagnosticReport['status']>> = {
  A: 'partial',
  C: 'corrected',
  F: 'final',
  I: 'registered',
  M: 'amended',
  O: 'registered',
  P: 'preliminary',
  R: 'preliminary',
  S: 'registered',
  X: 'cancelled',
};

export const observationStatus = (code: string | undefined): Observation['status'] =>
  OBSERVATIONS[code ?? ''] ?? 'unknown';

export const reportStatus = (code: string | undefined): DiagnosticReport['status'] =>
  REPORTS[code ?? ''] ?? 'unknown';

/** Whether an OBX segment contains no result at all. */
export const isNoResult = (code: string | undefined): boolean => code === 'O' || code === 'N';

/** Whether the lab takes the result back: deleted, or posted as wrong. */
export const isMistaken = (code: string | undefined): boolean => code === 'D' || code === 'W';

/** Whether results have been reported, as the status of a report says. */
export const hasResults = (code: string | undefined): boolean =>
  !['registered', 'cancelled'].includes(reportStatus(code));
