import { SaxesParser } from 'saxes';
import { IheError } from '../ihe-error.ts';
import { decodeXml, type XmlRemark } from './decode-xml.ts';
import type { XmlElement } from './xml-element.ts';

/** How large XML may be. Documents as attachments do not count. */
export interface XmlLimits {
  bytes: number;
  /** Levels of elements. */
  depth: number;
  /** Elements, attributes, comments and the like. */
  nodes: number;
}

export const XML_LIMITS: XmlLimits = {
  bytes: 64 * 1024 * 1024,
  depth: 100,
  nodes: 2_000_000,
};

export interface ReadXmlOptions {
  /** The charset of the Content-Type, if it has one. */
  charset?: string;
  limits?: Partial<XmlLimits>;
  /** Told what was odd. */
  remark?: (remark: XmlRemark) => void;
}

interface OpenElement extends XmlElement {
  children: XmlElement[];
}

/**
 * Reads an XML document into a tree of elements. There are no entities but
 * XML's own five, because a DOCTYPE is refused.
 *
 * @returns the root
 * @throws {IheError} `xml.not-well-formed`, `xml.doctype`, `xml.charset` or
 *   `too-large`
 */
export function readXml(
  bytes: Uint8Array,
  options: ReadXmlOptions = {},
): XmlElement {
  const limits = { ...XML_LIMITS, ...options.limits };
  if (bytes.byteLength > limits.bytes)
    throw tooLarge(`more than ${limits.bytes} bytes`);
  const text = decodeXml(bytes, options.charset, options.remark);
  return treeOf(text, limits);
}

function treeOf(xml: string, limits: XmlLimits): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  let root: XmlElement | undefined;
  let open: OpenElement | undefined;
  let depth = 0;
  let nodes = 0;
  const count = (more: number) => {
    nodes += more;
    if (nodes > limits.nodes)
      throw tooLarge(
        `more than ${limits.nodes} elements, attributes and the like`,
      );
  };

  parser.on('error', () => {
    throw new IheError(
      'xml.not-well-formed',
      `The XML is not well-formed (line ${parser.line}, column ${parser.column}).`,
    );
  });
  parser.on('doctype', () => {
    throw new IheError('xml.doctype', 'The XML has a DOCTYPE.');
  });

  parser.on('opentag', ({ uri, local, attributes }) => {
    const written = Object.values(attributes);
    depth += 1;
    if (depth > limits.depth)
      throw tooLarge(`more than ${limits.depth} levels`);
    count(1 + written.length);

    const element: OpenElement = {
      namespace: uri,
      name: local,
      attributes: written
        .filter((each) => each.prefix !== 'xmlns' && each.name !== 'xmlns')
        .map((each) => ({
          namespace: each.uri,
          name: each.local,
          value: each.value,
        })),
      children: [],
      text: '',
      parent: open,
    };
    open?.children.push(element);
    root ??= element;
    open = element;
  });
  const addText = (text: string) => {
    if (open !== undefined) open.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', (text) => {
    count(1);
    addText(text);
  });
  parser.on('comment', () => count(1));
  parser.on('processinginstruction', () => count(1));
  parser.on('closetag', () => {
    depth -= 1;
    open = open?.parent as OpenElement | undefined;
  });

  parser.write(withoutOuterSpace(xml)).close();
  if (root === undefined)
    throw new IheError('xml.not-well-formed', 'There is no XML.');
  return root;
}

/** Some write a line break before the XML declaration, where none may be. */
const withoutOuterSpace = (xml: string): string => xml.trim();

const tooLarge = (what: string): IheError =>
  new IheError('too-large', `The XML has ${what}.`);
