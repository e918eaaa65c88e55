import { XMLParser, XMLValidator } from 'fast-xml-parser';

/** An element and what is in it, in order. */
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
 * Entries say for machines what the narrative says for people; they are most of a document and are passed over unread.
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

/** The root element; undefined when it is not well-formed. The text has passed `openXml`: no DTD, bounded depth. */
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

/** The elements at the end of a path of names. */
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

/** All text within, with white space as single blanks. */
export function textWithin(node: XmlNode | undefined): string {
  const whole = (each: XmlNode): string => (isElement(each) ? each.children.map(whole).join(' ') : each);
  return node === undefined ? '' : whole(node).replaceAll(/\s+/g, ' ').trim();
}
