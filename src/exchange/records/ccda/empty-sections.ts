import { topicOfSection } from '../rules/absence.ts';
import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { isNull, sectionsOf } from './statements.ts';

/** Longer than a statement that there is nothing; what is longer is read in the document. */
const QUOTED_MAX = 300;

const REASONS: Readonly<Record<string, string>> = { NASK: 'notasked', MSK: 'withheld' };

/**
 * A List with `emptyReason` for each section of allergies, problems, medications … that has no entries: what such a section
 * says in words is not lost, and that it says nothing is no silence.
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
        // The converter's own form of it; tidyResources puts the person's id in.
        subject: { reference: 'Patient/header' },
        date: day,
        emptyReason: { ...(reason && { coding: [{ system, code: reason }] }), text: words },
      },
    ];
  });
}

/** The parser mixes up the order of texts among elements, and a "no" may be one: only a single text can be quoted. */
function wordsOf(text: unknown): string | undefined {
  if (text === undefined || text === null) return undefined;
  const single = singleText(text);
  if (single === '') return undefined;
  return single !== undefined && single.length <= QUOTED_MAX
    ? single.replaceAll(/\s+/g, ' ')
    : 'Written in words only, which the document has';
}

/** Undefined when there is more than one. */
function singleText(node: unknown): string | undefined {
  if (typeof node === 'string' || typeof node === 'number') return String(node).trim();
  const parts = Array.isArray(node)
    ? (node as unknown[])
    : isJson(node)
      ? Object.entries(node).flatMap(([name, part]) => (name.startsWith('@_') ? [] : [part]))
      : [];
  const texts = parts.map(singleText);
  if (texts.some((text) => text === undefined)) return undefined;
  const said = texts.filter((text) => text !== '');
  return said.length > 1 ? undefined : (said[0] ?? '');
}
