import { topicOfSection } from '../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { isNull, sectionsOf } from './statements.ts';

/** Longer than any statement of absence; longer texts are not quoted and must be read in the document. */
const QUOTED_MAX = 300;

const REASONS: Readonly<Record<string, string>> = { NASK: 'notasked', MSK: 'withheld' };

/**
 * Returns a List with `emptyReason` for each section (allergies, problems, medications, …) without entries but with a text
 * or a nullFlavor, so that the statement in the text is not lost.
 */
export function emptySections(document: Json, day: string | undefined): Json[] {
  return sectionsOf(document).flatMap((section) => {
    const code = isJson(section.code) ? textOf(section.code['@_code']) : undefined;
    if (topicOfSection(code) === undefined || !objectsOf(section.entry).every(isNull)) return [];
    const flavor = textOf(section['@_nullFlavor']);
    const words = wordsOf(section.text);
    if (flavor === undefined && words === undefined) return [];
    const reason = flavor === undefined ? undefined : (REASONS[flavor] ?? 'unavailable');
    const system = 'http://terminology.hl7.org/CodeSystem/list-empty-reason';
    return [
      {
        resourceType: 'List',
        id: `empty-${code}`,
        status: 'current',
        mode: 'snapshot',
        code: { coding: [{ system: 'http://loinc.org', code }] },
        // The converter's notation for the patient; tidyResources inserts the person's id.
        subject: { reference: 'Patient/header' },
        date: day,
        emptyReason: { ...(reason && { coding: [{ system, code: reason }] }), text: words },
      },
    ];
  });
}

/** The parser loses the order of several texts, and one of them may be a "no", so only a single text can be quoted. */
function wordsOf(text: unknown): string | undefined {
  if (text === undefined || text === null) return undefined;
  const single = singleText(text);
  if (single === '') return undefined;
  return single !== undefined && single.length <= QUOTED_MAX
    ? single.replaceAll(/\s+/g, ' ')
    : 'The section has free text only; see the document';
}

/** The only text in a node; '' when it has none, undefined when it has several. */
export function singleText(node: unknown): string | undefined {
  if (typeof node === 'string' || typeof node === 'number') return String(node).trim();
  const parts = Array.isArray(node)
    ? (node as unknown[])
    : isJson(node)
      ? Object.entries(node).flatMap(([name, part]) => (name.startsWith('@_') ? [] : [part]))
      : [];
  const texts = parts.map(singleText);
  if (texts.some((text) => text === undefined)) return undefined;
  const nonEmpty = texts.filter((text) => text !== '');
  return nonEmpty.length > 1 ? undefined : (nonEmpty[0] ?? '');
}

/** Removes the text of all sections, in place: the converter would put it into the Composition, which is dropped. */
export function dropNarratives(document: Json): void {
  for (const section of sectionsOf(document) as Record<string, unknown>[]) delete section.text;
}
