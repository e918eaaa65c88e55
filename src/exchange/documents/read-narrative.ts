import type { Block, Cell, Run } from './readable-document.ts';
import { elementsOf, isElement, type XmlElement, type XmlNode } from './xml-tree.ts';

/** More columns than any page has room for. */
const SPAN_MAX = 50;
const NOT_SHOWN = 'Image or other media, not shown here';

/**
 * The narrative of a section (CDA R2, StrucDoc.Text) as blocks. Addresses, styles and media are left behind; of an
 * element that nobody knows the text is kept, for nothing that was written may get lost.
 */
export function readNarrative(text: XmlElement): Block[] {
  return blocksOf(text.children);
}

function blocksOf(nodes: readonly XmlNode[]): Block[] {
  const blocks: Block[] = [];
  let loose: Run[] = [];
  const endParagraph = () => {
    const runs = tidy(loose);
    if (runs.length > 0) blocks.push({ kind: 'paragraph', runs });
    loose = [];
  };
  for (const node of nodes) {
    const own = isElement(node) ? blockOf(node) : undefined;
    if (own === undefined) loose.push(...runsOf(node));
    else {
      endParagraph();
      blocks.push(...own);
    }
  }
  endParagraph();
  return blocks;
}

/** Undefined for what stands within a line. */
function blockOf(element: XmlElement): Block[] | undefined {
  switch (element.name) {
    case 'paragraph':
      return blocksOf(element.children);
    case 'caption':
      return [{ kind: 'paragraph' as const, runs: tidy(runsWithin(element, 'bold')) }].filter(hasText);
    case 'list':
      return listOf(element);
    case 'table':
      return tableOf(element);
    default:
      return holdsBlocks(element) ? blocksOf(element.children) : undefined;
  }
}

const BLOCKS = new Set(['paragraph', 'list', 'table']);
const holdsBlocks = (element: XmlElement): boolean =>
  elementsOf(element).some((child) => BLOCKS.has(child.name) || holdsBlocks(child));
const hasText = ({ runs }: { runs: Run[] }): boolean => runs.length > 0;

function listOf(list: XmlElement): Block[] {
  const items = elementsOf(list)
    .filter(({ name }) => name === 'item')
    .map((item) => blocksOf(item.children))
    .filter((blocks) => blocks.length > 0);
  const rest = blocksOf(list.children.filter((node) => !(isElement(node) && node.name === 'item')));
  const ordered = list.attributes.listType === 'ordered';
  return items.length === 0 ? rest : [...rest, { kind: 'list', ordered, items }];
}

function tableOf(table: XmlElement): Block[] {
  const head: Cell[][] = [];
  const rows: Cell[][] = [];
  const rest: XmlNode[] = [];
  for (const part of table.children) {
    if (!isElement(part)) rest.push(part);
    else if (part.name === 'tr') rows.push(cellsOf(part));
    else if (part.name === 'thead') head.push(...elementsOf(part).map(cellsOf));
    else if (part.name === 'tbody' || part.name === 'tfoot') rows.push(...elementsOf(part).map(cellsOf));
    else if (part.name !== 'col' && part.name !== 'colgroup') rest.push(part);
  }
  const isFilled = (cells: Cell[]) => cells.some(hasText);
  // A head without a row says nothing, but it was written.
  const block: Block = { kind: 'table', head: head.filter(isFilled), rows: rows.filter(isFilled) };
  return [...blocksOf(rest), ...(block.head.length + block.rows.length === 0 ? [] : [block])];
}

function cellsOf(row: XmlElement): Cell[] {
  return elementsOf(row)
    .filter(({ name }) => name === 'td' || name === 'th')
    .map((cell) => ({
      runs: tidy(linesOf(blocksOf(cell.children))),
      isHeading: cell.name === 'th',
      columns: span(cell.attributes.colspan),
      rows: span(cell.attributes.rowspan),
    }));
}

function span(text: string | undefined): number {
  const value = Number(text ?? 1);
  return Number.isInteger(value) && value >= 1 ? Math.min(value, SPAN_MAX) : 1;
}

/** Blocks as lines, for there are no blocks within a cell. */
const linesOf = (blocks: readonly Block[]): Run[] => blocks.flatMap(linesOfBlock);

function linesOfBlock(block: Block): Run[] {
  switch (block.kind) {
    case 'paragraph':
      return [...block.runs, NEW_LINE];
    case 'list':
      return block.items.flatMap((item, index) => [
        { text: block.ordered ? `${index + 1}. ` : '• ' },
        ...linesOf(item),
      ]);
    case 'table':
      return [...block.head, ...block.rows].flatMap((cells) => [
        ...cells.flatMap(({ runs }, index) => (index === 0 ? runs : [{ text: ' | ' }, ...runs])),
        NEW_LINE,
      ]);
  }
}

const NEW_LINE: Run = { text: '\n' };

function runsOf(node: XmlNode, style?: Run['style']): Run[] {
  if (!isElement(node)) return [{ text: node.replaceAll(/\s+/g, ' '), style }];
  switch (node.name) {
    case 'br':
      return [NEW_LINE];
    case 'renderMultiMedia':
    case 'observationMedia':
      return [...runsWithin(node, style), { text: ` [${NOT_SHOWN}] `, style: 'italic' }];
    case 'footnote':
      return [{ text: ' (' }, ...runsWithin(node, style), { text: ')' }];
    case 'content':
      return runsWithin(node, styleOf(node.attributes.styleCode) ?? style);
    default:
      return runsWithin(node, style);
  }
}

const runsWithin = (element: XmlElement, style?: Run['style']): Run[] =>
  element.children.flatMap((child) => runsOf(child, style));

/** HL7's own codes; those of a sender's style sheet say nothing without it. */
function styleOf(codes: string | undefined): Run['style'] | undefined {
  const known = { Bold: 'bold', Italics: 'italic', Underline: 'underline' } as const;
  for (const code of codes?.split(/\s+/) ?? []) {
    if (Object.hasOwn(known, code)) return known[code as keyof typeof known];
  }
  return undefined;
}

/** Runs of one style joined, blanks only between words, no empty lines at the ends. */
function tidy(runs: readonly Run[]): Run[] {
  const joined: Run[] = [];
  let before = '\n';
  for (const { text, style } of runs) {
    const isAtStart = before.endsWith('\n') || before.endsWith(' ');
    const own = isAtStart && text !== '\n' ? text.replace(/^ +/, '') : text;
    if (own === '') continue;
    before = own;
    const last = joined.at(-1);
    if (last !== undefined && (last.style === style || own.trim() === '')) last.text += own;
    else joined.push(style === undefined ? { text: own } : { text: own, style });
  }
  return trimmed(joined);
}

function trimmed(runs: Run[]): Run[] {
  const [first] = runs;
  if (first !== undefined) first.text = first.text.trimStart();
  for (let last = runs.at(-1); last !== undefined; last = runs.at(-1)) {
    last.text = last.text.trimEnd();
    if (last.text !== '') break;
    runs.pop();
  }
  return runs[0]?.text === '' ? trimmed(runs.slice(1)) : runs;
}
