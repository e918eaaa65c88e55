import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { singleText } from './empty-sections.ts';
import { sectionsOf } from './statements.ts';

/** Longer texts describe rather than name. */
const NAME_MAX = 200;

/**
 * Gives each coded element without a code and a name, in place, the name that the document has for it in words: its original text, or the part
 * of the section's text that this refers to. Without it, a drug allergy without a code would be one to an unnamed drug.
 */
export function nameByNarrative(document: Json): void {
  for (const section of sectionsOf(document)) {
    const words = new Map<string, string>();
    collectWords(section.text, words);
    for (const entry of objectsOf(section.entry)) nameIn(entry, words);
  }
}

/** The parts of a text that can be referred to, by their ids: those that consist of a single text, whose order is certain. */
function collectWords(node: unknown, words: Map<string, string>): void {
  if (Array.isArray(node)) for (const item of node) collectWords(item, words);
  if (!isJson(node)) return;
  const id = textOf(node['@_ID']);
  const text = id === undefined ? undefined : singleText(node);
  if (id !== undefined && text !== undefined) words.set(id, text);
  for (const [name, part] of Object.entries(node)) if (!name.startsWith('@_')) collectWords(part, words);
}

function nameIn(node: unknown, words: ReadonlyMap<string, string>): void {
  if (Array.isArray(node)) for (const item of node) nameIn(item, words);
  if (!isJson(node)) return;
  const name = nameOf(node, words);
  if (name !== undefined) (node as Record<string, unknown>)['@_displayName'] = name;
  for (const part of Object.values(node)) nameIn(part, words);
}

function nameOf(node: Json, words: ReadonlyMap<string, string>): string | undefined {
  if (textOf(node['@_code']) !== undefined || textOf(node['@_displayName']) !== undefined) return undefined;
  const original = node.originalText ?? objectsOf(node.translation)[0]?.originalText;
  const reference = objectsOf(objectsOf(original)[0]?.reference)[0];
  const id = textOf(reference?.['@_value'])?.replace('#', '');
  const text = (original === undefined ? undefined : singleText(original)) || words.get(id ?? '');
  const name = text?.replaceAll(/\s+/g, ' ').trim();
  return name && name.length <= NAME_MAX ? name : undefined;
}
