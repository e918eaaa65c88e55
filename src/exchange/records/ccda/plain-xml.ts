import { SaxesParser } from 'saxes';

type Node = Record<string, unknown>;

/** An element whose end was not read yet; the document itself is the outermost. */
interface OpenElement {
  name: string;
  path: ElementPath;
  parent: OpenElement | undefined;
  attributes: Readonly<Record<string, string>>;
  children: Node;
  text: string;
}

/** A place in a document (`ClinicalDocument.recordTarget`), made once for all elements there. */
interface ElementPath {
  name: string;
  isList: boolean;
  children: Map<string, ElementPath>;
}

/** Thrown by our handlers to end the reading. */
class NotPlain extends Error {}

const refuse = (): never => {
  throw new NotPlain();
};
const PLAIN_NAME = /^[A-Za-z][\w:-]*$/;
/** What saxes reads as XML says and fast-xml-parser does not: line ends in attributes, characters given as numbers. */
const READ_DIFFERENTLY = /&#|=\s*(?:"[^"<]*|'[^'<]*)[\t\r\n]/;

/**
 * Reads a document into the objects that fast-xml-parser makes of it with the options of `@medplum/ccda`: attributes are
 * `@_name`, text is `#text` or the whole value, elements that occur several times are lists. It reads only plain, well-formed
 * documents and returns undefined for all others (CDATA, a missing end tag, …), which the library reads in its own way.
 *
 * @param lists endings of the paths whose elements are a list even if there is only one
 */
export function readPlainXml(xml: string, lists: readonly string[]): Readonly<Node> | undefined {
  if (READ_DIFFERENTLY.test(xml)) return undefined;
  const document = openElement('', { name: '', isList: false, children: new Map() }, {});
  let current = document;
  // The text since the last tag; a comment does not divide it.
  let piece = '';
  const endPiece = () => {
    current.text += piece.trim();
    piece = '';
  };
  const parser = new SaxesParser();
  parser.on('error', refuse);
  parser.on('cdata', refuse);
  parser.on('processinginstruction', () => current !== document && refuse());
  parser.on('text', (text) => {
    piece += text;
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (!PLAIN_NAME.test(name)) refuse();
    endPiece();
    current = openElement(name, childPath(current.path, name, lists), attributes, current);
  });
  parser.on('closetag', () => {
    endPiece();
    current = closed(current, current.parent ?? refuse());
  });
  try {
    parser.write(xml).close();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
  return document.children;
}

function openElement(
  name: string,
  path: ElementPath,
  attributes: OpenElement['attributes'],
  parent?: OpenElement,
): OpenElement {
  return { name, path, parent, attributes, children: {}, text: '' };
}

function childPath(parent: ElementPath, name: string, lists: readonly string[]): ElementPath {
  const known = parent.children.get(name);
  if (known !== undefined) return known;
  const path = parent.name === '' ? name : `${parent.name}.${name}`;
  const made = { name: path, isList: lists.some((list) => path.endsWith(list)), children: new Map() };
  parent.children.set(name, made);
  return made;
}

/** Adds an element to its parent, which it returns. Children come first, then the text, then the attributes. */
function closed({ name, path, attributes, children, text }: OpenElement, parent: OpenElement): OpenElement {
  const names = Object.keys(attributes);
  const isText = names.length === 0 && Object.keys(children).length === 0;
  if (!isText && text !== '') children['#text'] = text;
  for (const attribute of names) {
    if (!PLAIN_NAME.test(attribute)) refuse();
    children[`@_${attribute}`] = attributes[attribute]?.trim();
  }
  const value = isText ? text : children;
  const siblings = parent.children;
  const known = Object.hasOwn(siblings, name) ? siblings[name] : undefined;
  if (known === undefined) siblings[name] = path.isList ? [value] : value;
  else if (Array.isArray(known)) known.push(value);
  else siblings[name] = [known, value];
  return parent;
}
