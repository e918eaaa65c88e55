type Node = Record<string, unknown>;

/** An element whose end was not read yet; the document itself is the outermost. */
interface OpenElement {
  name: string;
  path: ElementPath;
  parent: OpenElement | undefined;
  /** Names and values in turns. */
  attributes: string[];
  children: Node;
  text: string;
}

/** A place in a document (`ClinicalDocument.recordTarget`), made once for all elements there. */
interface ElementPath {
  name: string;
  isList: boolean;
  children: Map<string, ElementPath>;
}

const START = /<([A-Za-z][\w:-]*)/y;
const ATTRIBUTE = /\s+([A-Za-z][\w:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/y;
const START_END = /\s*(\/?)>/y;
const END = /<\/([A-Za-z][\w:-]*)\s*>/y;
/** The XML declaration, or a reference to a stylesheet. */
const INSTRUCTION = /<\?(?:[^"'?>]|"[^"]*"|'[^']*')*\?>/y;
const [EXCLAMATION, SLASH, QUESTION] = [0x21, 0x2f, 0x3f];

/**
 * Reads a document into the objects that fast-xml-parser makes of it with the options of `@medplum/ccda`: attributes are
 * `@_name`, text is `#text` or the whole value, elements that occur several times are lists. It reads only plain, well-formed
 * documents and returns undefined for all others (CDATA, a missing end tag, …), which the library reads in its own way.
 *
 * @param lists endings of the paths whose elements are a list even if there is only one
 */
export function readPlainXml(xml: string, lists: readonly string[]): Readonly<Node> | undefined {
  const text = xml.includes('\r') ? xml.replaceAll(/\r\n?/g, '\n') : xml;
  const document = openElement('', { name: '', isList: false, children: new Map() });
  let current = document;
  // The text since the last tag; a comment does not divide it.
  let piece = '';
  let read = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', read)) {
    piece += text.slice(read, at);
    const kind = text.charCodeAt(at + 1);
    if (kind === EXCLAMATION) {
      const end = text.startsWith('<!--', at) ? text.indexOf('-->', at + 4) : -1;
      if (end === -1) return undefined;
      read = end + 3;
      continue;
    }
    current.text += decoded(piece.trim());
    piece = '';
    if (kind === QUESTION) {
      if (current !== document || matchAt(INSTRUCTION, text, at) === null) return undefined;
      read = INSTRUCTION.lastIndex;
    } else if (kind === SLASH) {
      const name = matchAt(END, text, at)?.[1];
      if (name !== current.name || current.parent === undefined) return undefined;
      read = END.lastIndex;
      current = closed(current, current.parent);
    } else {
      const name = matchAt(START, text, at)?.[1];
      if (name === undefined) return undefined;
      const element = openElement(name, childPath(current.path, name, lists), current);
      const end = matchAt(START_END, text, readAttributes(element, text, START.lastIndex));
      if (end === null) return undefined;
      read = START_END.lastIndex;
      current = end[1] === '/' ? closed(element, current) : element;
    }
  }
  return current === document ? document.children : undefined;
}

function openElement(name: string, path: ElementPath, parent?: OpenElement): OpenElement {
  return { name, path, parent, attributes: [], children: {}, text: '' };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns where the attributes end. */
function readAttributes({ attributes }: OpenElement, text: string, start: number): number {
  let end = start;
  for (let found = matchAt(ATTRIBUTE, text, end); found !== null; found = matchAt(ATTRIBUTE, text, end)) {
    const [, name = '', double, single = ''] = found;
    attributes.push(`@_${name}`, decoded((double ?? single).trim()));
    end = ATTRIBUTE.lastIndex;
  }
  return end;
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
  const isText = attributes.length === 0 && Object.keys(children).length === 0;
  if (!isText && text !== '') children['#text'] = text;
  for (let index = 0; index < attributes.length; index += 2)
    children[attributes[index] ?? ''] = attributes[index + 1];
  const value = isText ? text : children;
  const siblings = parent.children;
  const known = Object.hasOwn(siblings, name) ? siblings[name] : undefined;
  if (known === undefined) siblings[name] = path.isList ? [value] : value;
  else if (Array.isArray(known)) known.push(value);
  else siblings[name] = [known, value];
  return parent;
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ apos: "'", gt: '>', lt: '<', quot: '"', amp: '&' },
  ...{ '#39': "'", '#62': '>', '#60': '<', '#34': '"', '#38': '&' },
  ...{ '#x27': "'", '#x3E': '>', '#x3C': '<', '#x22': '"', '#x26': '&' },
};
const ENTITY = /&(apos|gt|lt|quot|amp|#39|#62|#60|#34|#38|#x27|#x3E|#x3C|#x22|#x26);/g;

/** Other entities stay as they are; `openXml` has replaced those that are numbers. */
const decoded = (text: string): string =>
  text.includes('&') ? text.replaceAll(ENTITY, (entity, name: string) => ENTITIES[name] ?? entity) : text;
