import { type FhirJson, fhirObjects, fhirText, isFhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';

/** The hierarchy tag at the end of SNOMED CT names. */
const SEMANTIC_TAG =
  / \((?:disorder|finding|procedure|situation|person|occupation|physical object|substance|observable entity|regime\/therapy|record artifact|event|qualifier value|morphologic abnormality|medicinal product|product|clinical drug|environment|body structure|assessment scale|navigational concept|context-dependent category)\)$/;

/** A name without its SNOMED CT hierarchy tag. */
export const withoutSemanticTag = (name: string): string =>
  name.trim().replace(SEMANTIC_TAG, '');

/**
 * A CodeableConcept as text: its text, otherwise the first display, otherwise
 * the first code. A text that is a code is none.
 */
export function conceptName(concept: unknown): string | undefined {
  if (!isFhirJson(concept)) return undefined;
  const codes = conceptCodes(concept);
  const names = namesIn(concept);
  const name =
    names.find((text) => !codes.includes(text)) ?? names[0] ?? codes[0];
  return name === undefined ? undefined : withoutSemanticTag(name) || undefined;
}

export const conceptCodes = (concept: unknown): string[] =>
  isFhirJson(concept)
    ? fhirObjects(concept.coding).flatMap(({ code }) => fhirText(code) ?? [])
    : [];

/** The text of a concept, and what its codes are called. */
const namesIn = ({ text, coding }: FhirJson): string[] =>
  [text, ...fhirObjects(coding).map(({ display }) => display)].flatMap(
    (each) => fhirText(each) ?? [],
  );

/** Qualifiers of SNOMED CT for a side, also within an expression. */
const SIDE_CODE = /\b(?:7771000|24028007|51440002)\b/g;
const SIDES: Readonly<Record<string, string>> = cdaTable({
  '7771000': 'left',
  '24028007': 'right',
  '51440002': 'bilateral',
});
const SIDE_WORD = /\b(?:left|right|bilateral|both)\b/g;

/** The side that a concept says by its words or codes. */
export function sideIn(concept: unknown): string | undefined {
  if (!isFhirJson(concept)) return undefined;
  const [word] = namesIn(concept).flatMap(
    (name) => name.toLowerCase().match(SIDE_WORD) ?? [],
  );
  if (word !== undefined) return word === 'both' ? 'bilateral' : word;
  const [code = ''] = conceptCodes(concept).flatMap(
    (each) => each.match(SIDE_CODE) ?? [],
  );
  return SIDES[code];
}
