import { attribute, type CdaElement, childOf, elementsIn } from './element.ts';

/** Elements that begin a line of their own. */
const BLOCKS: ReadonlySet<string> = new Set(['br', 'caption', 'item', 'list', 'paragraph', 'table', 'tr']);
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);

/** The elements of a text that can be referred to, by their ids. */
export type NarrativeParts = ReadonlyMap<string, CdaElement>;

export function narrativeParts(text: CdaElement | undefined): NarrativeParts {
  const parts = new Map<string, CdaElement>();
  const collect = (element: CdaElement) => {
    const id = attribute(element, 'ID');
    if (id !== undefined && !parts.has(id)) parts.set(id, element);
    elementsIn(element).forEach(collect);
  };
  if (text !== undefined) collect(text);
  return parts;
}

interface Narrative {
  /** The parts of the section's text, and then of the whole document. */
  parts: readonly NarrativeParts[];
}

/**
 * What an element says in words: its own, otherwise those of the narrative that it refers to; one line for each block, cells divided by
 * ` | `. Undefined when there are none.
 */
export function words(element: CdaElement | undefined, { parts }: Narrative): string | undefined {
  if (element === undefined || attribute(element, 'representation') === 'B64') return undefined;
  const reference = attribute(childOf(element, 'reference'), 'value')?.replace(/^#/, '');
  const referred = reference && parts.map((each) => each.get(reference)).find(Boolean);
  return ownWords(element) ?? (referred ? ownWords(referred) : undefined);
}

/** Words in one line. */
export const line = (element: CdaElement | undefined, narrative: Narrative): string | undefined =>
  words(element, narrative)?.replaceAll('\n', ' ');

function ownWords(element: CdaElement): string | undefined {
  const lines = textIn(element)
    .split('\n')
    .map((each) =>
      each
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/^(?: ?\|)+ ?| ?(?:\| ?)+$/g, '')
        .trim(),
    )
    .filter((each) => each !== '');
  return lines.length === 0 ? undefined : lines.join('\n');
}

function textIn({ content }: CdaElement): string {
  return content
    .map((part) => {
      // Line breaks in the source are spaces.
      if (typeof part === 'string') return part.replaceAll(/\s+/g, ' ');
      const text = textIn(part);
      return BLOCKS.has(part.name) ? `\n${text}\n` : CELLS.has(part.name) ? `${text} | ` : text;
    })
    .join('');
}

/** The text of an element itself, in one line. */
export const plainText = (element: CdaElement | undefined): string | undefined =>
  element?.content
    .filter((part) => typeof part === 'string')
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim() || undefined;
