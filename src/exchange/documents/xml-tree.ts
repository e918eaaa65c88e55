import { XMLParser, XMLValidator } from 'fast-xml-parser';

/** An element with its children in document order. */
export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: readonly XmlNode[];
}

export type XmlNode = XmlElement | string;

type Parsed = Record<string, unknown>;

const ATTRIBUTES = ':@';
const TEXT = '#text';

/**
 * Skips `entry` elements: they repeat the narrative for machines and make up most of a document.
 */
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  removeNSPrefix: true,
  trimValues: false,
  parseTagValue: false,
  parseAttributeValue: false,
  stopNodes: ['..entry'],
});

/** Parses XML to its root element; undefined if not well-formed. The text must have passed `openXml` (no DTD, limited depth). */
export function parseXml(text: string): XmlElement | undefined {
  if (XMLValidator.validate(text) !== true) return undefined;
  const nodes = (parser.parse(text) as Parsed[]).map(toNode);
  return nodes.find((node): node is XmlElement => isElement(node) && !node.name.startsWith('?'));
}

function toNode(parsed: Parsed): XmlNode {
  const text = parsed[TEXT];
  if (text !== undefined) return String(text);
  const name = Object.keys(parsed).find((key) => key !== ATTRIBUTES) ?? '';
  const children = parsed[name];
  return {
    name,
    attributes: (parsed[ATTRIBUTES] ?? {}) as Record<string, string>,
    children: Array.isArray(children) && name !== 'entry' ? (children as Parsed[]).map(toNode) : [],
  };
}

export const isElement = (node: XmlNode): node is XmlElement => typeof node !== 'string';

export const elementsOf = (parent: XmlElement | undefined): XmlElement[] =>
  parent?.children.filter(isElement) ?? [];

/** The descendants reached by a path of element names. */
export function elementsAt(parent: XmlElement | undefined, ...path: readonly string[]): XmlElement[] {
  let found = parent === undefined ? [] : [parent];
  for (const name of path)
    found = found.flatMap((each) => elementsOf(each).filter((child) => child.name === name));
  return found;
}

export const elementAt = (
  parent: XmlElement | undefined,
  ...path: readonly string[]
): XmlElement | undefined => elementsAt(parent, ...path)[0];

/** All text in a node, with white space collapsed to single spaces. */
export function textWithin(node: XmlNode | undefined): string {
  const whole = (each: XmlNode): string => (isElement(each) ? each.children.map(whole).join(' ') : each);
  return node === undefined ? '' : whole(node).replaceAll(/\s+/g, ' ').trim();
}
