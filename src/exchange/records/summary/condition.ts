import type { SummaryEntry } from './entry.ts';
import { codesOf, conceptText, firstDay, statusText, unique } from './words.ts';

const OVER = ['inactive', 'remission', 'resolved'];
const NOT_TRUE = ['refuted', 'entered-in-error'];

/** Whether a Condition or AllergyIntolerance is active: it is, unless its statuses or an abatement say otherwise. */
export function isActive({ content }: SummaryEntry): boolean {
  const codes = [...codesOf(content.clinicalStatus), ...codesOf(content.verificationStatus)];
  const hasEnded = Object.keys(content).some((element) => element.startsWith('abatement'));
  return !hasEnded && !codes.some((code) => OVER.includes(code) || NOT_TRUE.includes(code));
}

/** Clinical status and, unless it is `confirmed`, verification status: `Active, Provisional`. */
export function stateOf({ content }: SummaryEntry): string {
  const verification = codesOf(content.verificationStatus).find((code) => code !== 'confirmed');
  return unique([
    conceptText(content.clinicalStatus),
    verification === undefined ? undefined : conceptText(content.verificationStatus),
  ])
    .map((text) => statusText(text) ?? '')
    .join(', ');
}

export const onset = ({ content }: SummaryEntry) =>
  firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate');
