import { unnamedSites } from './fhir/distinctions.ts';
import { type Json, objectsOf } from './fhir/json.ts';
import { conceptText, referenceText, unique } from './fhir/words.ts';
import { withRemarks } from './observation.ts';
import type { SummaryCell } from './parts.ts';
import { idOf, type Lookup } from './section.ts';

/** The name of a procedure with its body sites; '' if the source names none. */
export const procedureName = (content: Json, { linked }: Lookup): string =>
  withRemarks(conceptText(content.code) ?? '', unnamedSites(content, linked));

/** Complications of a procedure: coded, or the names of Conditions. */
export const complicationsOf = (
  { complication, complicationDetail }: Json,
  { conditions }: Lookup,
): string[] =>
  unique([
    ...objectsOf(complication).map(conceptText),
    ...objectsOf(complicationDetail).map(
      (each) => referenceText(each) ?? conditions.get(idOf(each) ?? ''),
    ),
  ]);

/** A procedure's name, and what went wrong. */
export function procedureCell(
  content: Json,
  lookup: Lookup,
): string | SummaryCell {
  const name = procedureName(content, lookup);
  const complications = complicationsOf(content, lookup);
  if (complications.length === 0) return name;
  const text = unique([name, `complication: ${complications.join(', ')}`]);
  return { text: text.join('; '), tone: 'alert' };
}
