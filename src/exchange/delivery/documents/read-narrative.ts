import { type CdaElement, elementsIn } from '../../records/conversion/ccda/element.ts';
import { momentText } from '../../records/rules/words.ts';
import names from './code-system-names.json' with { type: 'json' };
import type { Block, DocumentCell, Run } from './readable-document.ts';

type Part = CdaElement | string;
const isElement = (part: Part): part is CdaElement => typeof part !== 'string';

/** Limit for colspan and rowspan; more than fits on any page. */
const SPAN_MAX = 50;
const NOT_SHOWN = 'Image or other media, not shown here';

/**
 * Converts the narrative of a section (CDA R2, StrucDoc.Text) to blocks. Links, style sheets and media are dropped; the
 * text of unknown elements is kept, so that no text is lost.
 */
export function readNarrative(text: CdaElement): Block[] {
  return blocksOf(text.content);
}

function blocksOf(nodes: readonly Part[]): Block[] {
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

/** Undefined for inline elements. */
function blockOf(element: CdaElement): Block[] | undefined {
  switch (element.name) {
    case 'paragraph':
      return blocksOf(element.content);
    case 'caption':
      return [{ kind: 'paragraph' as const, runs: tidy(runsWithin(element, 'bold')) }].filter(hasText);
    case 'list':
      return listOf(element);
    case 'table':
      return tableOf(element);
    default:
      return holdsBlocks(element) ? blocksOf(element.content) : undefined;
  }
}

const BLOCKS = new Set(['paragraph', 'list', 'table']);
const holdsBlocks = (element: CdaElement): boolean =>
  elementsIn(element).some((child) => BLOCKS.has(child.name) || holdsBlocks(child));
const hasText = ({ runs }: { runs: Run[] }): boolean => runs.length > 0;

function listOf(list: CdaElement): Block[] {
  const items = elementsIn(list)
    .filter(({ name }) => name === 'item')
    .map((item) => blocksOf(item.content))
    .filter((blocks) => blocks.length > 0);
  const rest = blocksOf(list.content.filter((node) => !(isElement(node) && node.name === 'item')));
  const ordered = list.attributes.listType === 'ordered';
  return items.length === 0 ? rest : [...rest, { kind: 'list', ordered, items }];
}

function tableOf(table: CdaElement): Block[] {
  const head: DocumentCell[][] = [];
  const rows: DocumentCell[][] = [];
  const rest: Part[] = [];
  for (const part of table.content) {
    if (!isElement(part)) rest.push(part);
    else if (part.name === 'tr') rows.push(cellsOf(part));
    else if (part.name === 'thead') head.push(...elementsIn(part).map(cellsOf));
    else if (part.name === 'tbody' || part.name === 'tfoot') rows.push(...elementsIn(part).map(cellsOf));
    else if (part.name !== 'col' && part.name !== 'colgroup') rest.push(part);
  }
  const isFilled = (cells: DocumentCell[]) => cells.some(hasText);
  // A table with a head but no rows is kept: no text may be lost.
  const block: Block = { kind: 'table', head: head.filter(isFilled), rows: rows.filter(isFilled) };
  return [...blocksOf(rest), ...(block.head.length + block.rows.length === 0 ? [] : [block])];
}

function cellsOf(row: CdaElement): DocumentCell[] {
  return elementsIn(row)
    .filter(({ name }) => name === 'td' || name === 'th')
    .map((cell) => ({
      runs: readable(tidy(linesOf(blocksOf(cell.content)))),
      isHeading: cell.name === 'th',
      columns: span(cell.attributes.colspan),
      rows: span(cell.attributes.rowspan),
    }));
}

const readable = (runs: Run[]): Run[] =>
  runs.length === 1 ? runs.map((run) => ({ ...run, text: readableText(run.text) })) : runs;

function span(text: string | undefined): number {
  const value = Number(text ?? 1);
  return Number.isInteger(value) && value >= 1 ? Math.min(value, SPAN_MAX) : 1;
}

/** Flattens blocks to lines, because a cell cannot contain blocks. */
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

function runsOf(node: Part, style?: Run['style']): Run[] {
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

const runsWithin = (element: CdaElement, style?: Run['style']): Run[] =>
  element.content.flatMap((child) => runsOf(child, style));

/** Only HL7's own style codes; those of a sender's style sheet are unknown to us. */
function styleOf(codes: string | undefined): Run['style'] | undefined {
  const known = { Bold: 'bold', Italics: 'italic', Underline: 'underline' } as const;
  for (const code of codes?.split(/\s+/) ?? []) {
    if (Object.hasOwn(known, code)) return known[code as keyof typeof known];
  }
  return undefined;
}

/** Joins runs of the same style, collapses spaces, and removes empty lines at both ends. */
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

const CODE_SYSTEMS: Readonly<Record<string, string>> = names;

/** A date with a time; plain digits only with a time zone, because without one they may be an identifier. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/;
const HL7_TIME = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(?:\d{2}(?:\.\d+)?)?([+-]\d{2})(\d{2})$/;
const CODE = /^(https?:\/\/[^\s|]+?)\/?[\s|]+(\S{1,40})$/;

/**
 * A text that is only a time or only a code, as a person writes it: `15 Mar 2021, 15:45 UTC`, `SNOMED CT 410620009`. Other
 * texts are unchanged.
 */
function readableText(text: string): string {
  const plain = text.trim();
  const time = TIME.test(plain) ? plain : plain.replace(HL7_TIME, '$1-$2-$3T$4:$5$6:$7');
  if (TIME.test(time)) return isTime(time) ? (momentText(time) ?? text) : text;
  const [, system = '', code = ''] = CODE.exec(plain) ?? [];
  const name = Object.hasOwn(CODE_SYSTEMS, system) ? CODE_SYSTEMS[system] : undefined;
  return name === undefined ? text : `${name} ${code}`;
}

/** Texts of foreign documents may look like a time and be none, such as the 99th of a month. */
const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
