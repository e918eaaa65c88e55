import type {
  CodeableConcept,
  DiagnosticReport,
  Observation,
} from 'fhir/r4.js';
import { hl7Table } from './lookup-table.ts';

/**
 * HL7 table 0085 (OBX-11). O and N are no results: the order's own data, and a
 * question not asked.
 */
const OBSERVATIONS: Readonly<Record<string, Observation['status']>> = hl7Table({
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
});

/** HL7 table 0123 (OBR-25). */
const REPORTS: Readonly<Record<string, DiagnosticReport['status']>> = hl7Table({
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
});

export const observationStatus = (
  code: string | undefined,
): Observation['status'] => OBSERVATIONS[code ?? ''] ?? 'unknown';

export const reportStatus = (
  code: string | undefined,
): DiagnosticReport['status'] => REPORTS[code ?? ''] ?? 'unknown';

/** Whether an OBX segment contains no result at all. */
export const isNoResult = (code: string | undefined): boolean =>
  code === 'O' || code === 'N';

/** Whether the lab takes the result back: deleted, or posted as wrong. */
export const isMistaken = (code: string | undefined): boolean =>
  code === 'D' || code === 'W';

/** Whether results have been reported, as the status of a report says. */
export const hasResults = (code: string | undefined): boolean =>
  !['registered', 'cancelled'].includes(reportStatus(code));

/**
 * Sections of HL7 table 0074 (OBR-24) whose results have a category of FHIR;
 * the others have none.
 */
const CATEGORIES: Readonly<
  Record<string, 'laboratory' | 'imaging' | 'procedure'>
> = hl7Table({
  BG: 'laboratory',
  BLB: 'laboratory',
  CH: 'laboratory',
  CP: 'laboratory',
  GE: 'laboratory',
  HM: 'laboratory',
  IMM: 'laboratory',
  LAB: 'laboratory',
  MB: 'laboratory',
  MCB: 'laboratory',
  MYC: 'laboratory',
  OSL: 'laboratory',
  SP: 'laboratory',
  SR: 'laboratory',
  TX: 'laboratory',
  VR: 'laboratory',
  CT: 'imaging',
  CUS: 'imaging',
  NMR: 'imaging',
  NMS: 'imaging',
  OUS: 'imaging',
  RAD: 'imaging',
  RUS: 'imaging',
  RX: 'imaging',
  VUS: 'imaging',
  XRC: 'imaging',
  CTH: 'procedure',
  EC: 'procedure',
  EN: 'procedure',
  PF: 'procedure',
});

/**
 * The category of a report: its section as sent; without one that is known, the
 * laboratory if it can only be that.
 */
export function reportCategory(
  section: string | undefined,
  isOfSpecimen: boolean,
): { category?: CodeableConcept[] } {
  const code = section ?? (isOfSpecimen ? 'LAB' : undefined);
  const system = 'http://terminology.hl7.org/CodeSystem/v2-0074';
  return code === undefined
    ? {}
    : { category: [{ coding: [{ system, code }] }] };
}

/**
 * The category of a result. Where the section is missing or not one of the
 * table, the code or form of the result decides: a text may be the impression
 * of any department.
 */
export function resultCategory(
  section: string | undefined,
  looksLike: 'vital-signs' | 'laboratory' | undefined,
): { category?: CodeableConcept[] } {
  const isOfTable = section !== undefined && /^[A-Z]{2,3}$/.test(section);
  const code =
    CATEGORIES[section?.toUpperCase() ?? ''] ??
    (isOfTable ? undefined : looksLike);
  const system = 'http://terminology.hl7.org/CodeSystem/observation-category';
  return code === undefined
    ? {}
    : { category: [{ coding: [{ system, code }] }] };
}
