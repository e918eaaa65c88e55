import { SaxesParser } from 'saxes';

/** An element of a document. Names have no namespace prefix: `sdtc:raceCode` is `raceCode`, the attribute `xsi:type` is `type`. */
export interface CdaElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** Elements and texts, in the order of the document. */
  content: (CdaElement | string)[];
}

/** Structural faults after which it is unknown what an element belongs to. Others, such as a bare `&`, harm only a text. */
const STRUCTURE = /tag|root|unclosed|unended|unexpected end/i;

/**
 * Reads XML that `openXml` has accepted.
 *
 * @throws when elements are not closed as they were opened
 */
export function readElements(xml: string): CdaElement {
  const document: CdaElement = { name: '', attributes: {}, content: [] };
  const open = [document];
  const parser = new SaxesParser();
  const add = (text: string) => open.at(-1)?.content.push(text);
  parser.on('error', (error) => {
    if (STRUCTURE.test(error.message)) throw error;
  });
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('opentag', ({ name, attributes }) => {
    const element = { name: localName(name), attributes: ownAttributes(attributes), content: [] };
    open.at(-1)?.content.push(element);
    open.push(element);
  });
  parser.on('closetag', () => open.pop());
  parser.write(xml).close();
  return document;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function ownAttributes(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const text = value.trim();
    if (text !== '' && !name.startsWith('xmlns')) own[localName(name)] = text;
  }
  return own;
}

export const elementsIn = ({ content }: CdaElement): CdaElement[] =>
  content.filter((part) => typeof part !== 'string');

export const childrenOf = (of: CdaElement | undefined, name: string): CdaElement[] =>
  of === undefined ? [] : elementsIn(of).filter((child) => child.name === name);

export const childOf = (of: CdaElement | undefined, name: string): CdaElement | undefined =>
  childrenOf(of, name)[0];

/** The value of an attribute; undefined when it is missing or blank. */
export const attribute = (of: CdaElement | undefined, name: string): string | undefined =>
  of?.attributes[name];

/** The status, code or mood of an element in lower case. */
export const statusOf = (of: CdaElement): string | undefined =>
  attribute(childOf(of, 'statusCode'), 'code')?.toLowerCase();

/** C-CDA's templates are numbered under this root; rules name only the rest (`4.16`). */
const TEMPLATE_ROOT = '2.16.840.1.113883.10.20.22.';

export const templatesOf = (of: CdaElement): string[] =>
  childrenOf(of, 'templateId').flatMap((id) => attribute(id, 'root')?.replace(TEMPLATE_ROOT, '') ?? []);

interface Step {
  name: string;
  /** `@typeCode=MFST`: an attribute; `code=SEV`: the code of the child; `template=4.9`. */
  test?: readonly [name: string, values: readonly string[]];
}
const STEPS = new Map<string, Step[]>();

/**
 * The elements at a path: names of children divided by `/`, each with an optional condition (`entryRelationship[@typeCode=MFST]`,
 * `observation[code=33999-4|33999]`, `act[template=4.80]`); `.` is the element itself.
 */
export function select(from: CdaElement | undefined, path: string): CdaElement[] {
  let found = from === undefined ? [] : [from];
  for (const { name, test } of stepsOf(path))
    found = found.flatMap((each) => childrenOf(each, name)).filter((each) => passes(each, test));
  return found;
}

function stepsOf(path: string): Step[] {
  const known = STEPS.get(path);
  if (known !== undefined) return known;
  const steps = path === '.' ? [] : path.split('/').map(stepOf);
  STEPS.set(path, steps);
  return steps;
}

function stepOf(step: string): Step {
  const [, name = step, key, values = ''] = /^(\w+)(?:\[(@?\w+)=([^\]]+)\])?$/.exec(step) ?? [];
  return { name, test: key === undefined ? undefined : [key, values.split('|')] };
}

function passes(element: CdaElement, test: Step['test']): boolean {
  if (test === undefined) return true;
  const [key, values] = test;
  const own = key.startsWith('@')
    ? [attribute(element, key.slice(1))]
    : key === 'template'
      ? templatesOf(element)
      : childrenOf(element, key).map((child) => attribute(child, 'code'));
  return own.some((value) => value !== undefined && values.includes(value));
}
