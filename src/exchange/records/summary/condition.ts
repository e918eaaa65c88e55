import { type Json, objectsOf } from '../rules/json.ts';
import { codesOf, conceptText, firstDay, statusText, unique } from '../rules/words.ts';
import type { SummaryEntry } from './entry.ts';

const OVER = ['inactive', 'remission', 'resolved'];
const NOT_TRUE = ['refuted', 'entered-in-error'];

/** Whether a Condition is a diagnosis at an encounter of which nothing says whether the patient still has it. */
export function isOfEncounter({ content }: Pick<SummaryEntry, 'content'>): boolean {
  const categories = objectsOf(content.category).flatMap(codesOf);
  return (
    content.clinicalStatus === undefined &&
    !hasEnded(content) &&
    categories.includes('encounter-diagnosis') &&
    !categories.includes('problem-list-item')
  );
}

const hasEnded = (content: Json): boolean =>
  Object.keys(content).some((element) => element.startsWith('abatement'));

/** Whether a Condition or AllergyIntolerance is active: it is, unless its statuses or an abatement say otherwise. */
export function isActive({ content }: Pick<SummaryEntry, 'content'>): boolean {
  const codes = [...codesOf(content.clinicalStatus), ...codesOf(content.verificationStatus)];
  const isOver = codes.some((code) => OVER.includes(code) || NOT_TRUE.includes(code));
  return !isOver && !hasEnded(content) && !isOfEncounter({ content });
}

/** Clinical status and, unless it is `confirmed`, verification status: `Active, Provisional`. */
export function stateOf({ content }: Pick<SummaryEntry, 'content'>): string {
  const verification = codesOf(content.verificationStatus).find((code) => code !== 'confirmed');
  return unique([
    conceptText(content.clinicalStatus),
    verification === undefined ? undefined : conceptText(content.verificationStatus),
  ])
    .map((text) => statusText(text) ?? '')
    .join(', ');
}

export const onset = ({ content }: Pick<SummaryEntry, 'content'>) =>
  firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate');
