import type { Entry } from './section.ts';
import { codesOf, conceptText, firstDay, statusText, unique } from './words.ts';

/** How a Condition or an AllergyIntolerance stands. */

const OVER = ['inactive', 'remission', 'resolved'];
const NOT_SO = ['refuted', 'entered-in-error'];

/** Without a word to the contrary a condition goes on. */
export function isActive({ content }: Entry): boolean {
  const codes = [...codesOf(content.clinicalStatus), ...codesOf(content.verificationStatus)];
  const hasEnded = Object.keys(content).some((element) => element.startsWith('abatement'));
  return !hasEnded && !codes.some((code) => OVER.includes(code) || NOT_SO.includes(code));
}

export function stateOf({ content }: Entry): string {
  const verification = codesOf(content.verificationStatus).find((code) => code !== 'confirmed');
  return unique([
    conceptText(content.clinicalStatus),
    verification === undefined ? undefined : conceptText(content.verificationStatus),
  ])
    .map((text) => statusText(text) ?? '')
    .join(', ');
}

export const onset = ({ content }: Entry) =>
  firstDay(content, 'onsetDateTime', 'onsetPeriod', 'recordedDate');
