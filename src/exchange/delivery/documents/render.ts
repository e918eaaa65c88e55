import { readFileSync } from 'node:fs';
import sanitizeHtml from 'sanitize-html';
import {
  type CdaElement,
  childOf,
  isClinicalDocument,
  openXml,
  readElements,
} from '#ccda-to-fhir';
import {
  ACCENT,
  ALERT,
  type Column,
  type Element,
  factHtml,
  HTML_STYLE,
  PdfPages,
  PdfTable,
  SOFT,
} from '#record-summary';
import type { DocumentFormat } from '../../../contract/documents.ts';
import { escapeHtml } from '../../../lib/escape.ts';
import {
  type Block,
  type DocumentCell,
  type ReadableDocument,
  readCcda,
  runsText,
  type Section,
  type StyledText,
} from './read-ccda.ts';

/**
 * A rendered document, or why it could not be rendered; the reason completes
 * "This document cannot be converted: ".
 */
export type Rendering =
  | { kind: 'rendered'; bytes: Uint8Array }
  | { kind: 'not-xml' }
  | { kind: 'refused'; reason: string };

/**
 * Renders a C-CDA document as html or pdf. The input is not trusted. Takes
 * about 0.3 s and 100 MB of memory per MB.
 */
export async function renderDocument(
  bytes: Uint8Array,
  format: DocumentFormat,
): Promise<Rendering> {
  const xml = openXml(bytes);
  if (xml.kind === 'refused') {
    return xml.reason === 'it is not XML'
      ? { kind: 'not-xml' }
      : { kind: 'refused', reason: xml.reason };
  }
  if (!isClinicalDocument(xml.text))
    return { kind: 'refused', reason: 'it is XML but not a C-CDA document' };
  const root = rootOf(xml.text);
  if (root === undefined)
    return { kind: 'refused', reason: 'it is not well-formed XML' };
  const document = readCcda(root);
  if (format === 'pdf')
    return { kind: 'rendered', bytes: await ccdaPdf(document) };
  return {
    kind: 'rendered',
    bytes: Buffer.concat(
      [...ccdaHtml(document)].map((part) => Buffer.from(part)),
    ),
  };
}

function rootOf(xml: string): CdaElement | undefined {
  try {
    return childOf(readElements(xml), 'ClinicalDocument');
  } catch {
    return undefined;
  }
}

/**
 * Renders one self-contained HTML page: no scripts, no images, links only
 * within the page. All content is plain text and is escaped here; as a second
 * safeguard, sanitize-html removes any element that is not in the list below.
 */
function* ccdaHtml(document: ReadableDocument): Generator<string> {
  const { title, facts, sections } = document;
  yield `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>${escapeHtml(title)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n`;
  yield clean(
    `<header><h1>${escapeHtml(title)}</h1><dl>${facts.map(factHtml).join('')}</dl></header>\n`,
  );
  if (sections.length > 1) yield clean(contents(sections));
  yield '<main>\n';
  for (const [index, section] of sections.entries())
    yield clean(sectionHtml(section, `section-${index + 1}`, 2));
  yield '</main>\n</body>\n</html>\n';
}

const contents = (sections: readonly Section[]): string =>
  `<nav aria-label="Sections"><ul>${sections
    .map(
      ({ title }, index) =>
        `<li><a href="#section-${index + 1}">${escapeHtml(title)}</a></li>`,
    )
    .join('')}</ul></nav>\n`;

function sectionHtml(
  { title, blocks, sections }: Section,
  id: string,
  level: number,
): string {
  const heading = `h${Math.min(level, 6)}`;
  const inner = [
    ...blocks.map((block) => blockHtml(block, title)),
    ...sections.map((section, index) =>
      sectionHtml(section, `${id}-${index + 1}`, level + 1),
    ),
  ];
  const body =
    inner.length === 0
      ? '<p class="muted">This section is empty.</p>'
      : inner.join('\n');
  return `<section id="${id}"><${heading}>${escapeHtml(title)}</${heading}>\n${body}</section>\n`;
}

function blockHtml(block: Block, label: string): string {
  switch (block.kind) {
    case 'paragraph':
      return `<p>${runsHtml(block.runs)}</p>`;
    case 'list': {
      const tag = block.ordered ? 'ol' : 'ul';
      const items = block.items.map(
        (item) => `<li>${itemHtml(item, label)}</li>`,
      );
      return `<${tag}>${items.join('')}</${tag}>`;
    }
    case 'table': {
      const head =
        block.head.length === 0
          ? ''
          : `<thead>${block.head.map(rowHtml).join('\n')}</thead>`;
      const table = `<table>${head}<tbody>${block.rows.map(rowHtml).join('\n')}</tbody></table>`;
      return `<div class="scroll" role="region" tabindex="0" aria-label="${escapeHtml(label)}">${table}</div>`;
    }
  }
}

/**
 * A list item with a single paragraph is rendered as its text, without a `p`
 * element.
 */
function itemHtml(item: readonly Block[], label: string): string {
  const [only] = item;
  return item.length === 1 && only?.kind === 'paragraph'
    ? runsHtml(only.runs)
    : item.map((block) => blockHtml(block, label)).join('');
}

/** Dates and times, which must not be wrapped. */
const TIME =
  /^(?:[\d\s:.,/TZ+-]{1,30}|\d{1,2} [A-Z][a-z]{2} \d{4}, \d{2}:\d{2}(?: UTC\S{0,6})?)$/;

const rowHtml = (cells: readonly DocumentCell[]): string =>
  `<tr>${cells
    .map(({ runs, isHeading, columns, rows }) => {
      const tag = isHeading ? 'th' : 'td';
      const spans = `${columns > 1 ? ` colspan="${columns}"` : ''}${rows > 1 ? ` rowspan="${rows}"` : ''}`;
      const time = TIME.test(runsText(runs)) ? ' class="time"' : '';
      return `<${tag}${spans}${time}>${runsHtml(runs)}</${tag}>`;
    })
    .join('')}</tr>`;

const TAGS = { bold: 'strong', italic: 'em', underline: 'u' } as const;

const runsHtml = (runs: readonly StyledText[]): string =>
  runs
    .map(({ text, style }) => {
      const html = escapeHtml(text).replaceAll('\n', '<br>');
      return style === undefined
        ? html
        : `<${TAGS[style]}>${html}</${TAGS[style]}>`;
    })
    .join('');

const clean = (html: string): string =>
  sanitizeHtml(html, {
    allowedTags: (
      'header main nav section div h1 h2 h3 h4 h5 h6 p br strong em u ul ol li dl dt dd a ' +
      'table thead tbody tr th td'
    ).split(' '),
    allowedAttributes: {
      a: ['href'],
      section: ['id'],
      dd: ['class'],
      nav: ['aria-label'],
      div: ['class', 'role', 'tabindex', 'aria-label'],
      p: ['class'],
      td: ['class', 'colspan', 'rowspan'],
      th: ['class', 'colspan', 'rowspan'],
    },
    allowedSchemes: [],
    // Links may only point within the page.
    exclusiveFilter: ({ tag, attribs }) =>
      tag === 'a' && !/^#[\w-]+$/.test(attribs.href ?? ''),
  });

/** Extends the style of the medical record summary. */
const STYLE = `${HTML_STYLE}
${readFileSync(new URL('document.css', import.meta.url), 'utf8')}`;

const TEXT = { size: 9 } as const;
const INDENT = 14;

/**
 * Renders a tagged PDF: title, patient and page number on each page, repeated
 * table heads, bookmarks.
 */
async function ccdaPdf(document: ReadableDocument): Promise<Uint8Array> {
  const writer = new DocumentWriter(document);
  for (const section of document.sections) writer.section(section, 2);
  return writer.end();
}

class DocumentWriter {
  readonly #pages: PdfPages;
  readonly #pieces: Uint8Array[] = [];
  #parent: Element;

  constructor({ title, patient, facts }: ReadableDocument) {
    this.#pages = new PdfPages({
      title: title.length > 60 ? `${title.slice(0, 60)}…` : title,
      patient,
      facts: [],
      notes: [],
      sections: [],
    });
    this.#parent = this.#pages.element('Sect');
    this.#pages.text('H1', this.#parent, title, {
      font: 'Helvetica-Bold',
      size: 16,
    });
    this.#pages.y += 4;
    for (const { label, value, tone } of facts)
      this.#pages.text('P', this.#parent, value, {
        ...TEXT,
        ...(tone === 'alert' && { color: ALERT }),
        lineHeight: 12,
        indent: 84,
        label,
      });
  }

  section({ title, blocks, sections }: Section, level: number): void {
    const pages = this.#pages;
    const outer = this.#parent;
    this.#parent = pages.element('Sect');
    // Avoids a heading alone at the end of a page.
    if (pages.room < 90) pages.newPage();
    pages.y += 8;
    if (level === 2) pages.bookmark(title);
    pages.text(`H${Math.min(level, 6)}`, this.#parent, title, {
      font: 'Helvetica-Bold',
      size: level === 2 ? 13 : 11,
      color: ACCENT,
    });
    if (level === 2) pages.artifact('Layout', () => pages.rule(pages.y));
    pages.y += 5;
    if (blocks.length + sections.length === 0)
      pages.text('P', this.#parent, 'This section is empty.', {
        ...TEXT,
        color: SOFT,
      });
    for (const block of blocks) this.#block(block, title, 0);
    for (const section of sections) this.section(section, level + 1);
    this.#parent.end();
    this.#parent = outer;
    this.#pieces.push(...pages.takePieces());
  }

  async end(): Promise<Uint8Array> {
    for (const remark of this.#pages.remarks)
      this.#pages.text('P', this.#parent, remark, { size: 8, color: SOFT });
    this.#parent.end();
    await this.#pages.end();
    return Buffer.concat([...this.#pieces, ...this.#pages.takePieces()]);
  }

  #block(block: Block, caption: string, indent: number): void {
    switch (block.kind) {
      case 'paragraph': {
        const isBold = block.runs.every(({ style }) => style === 'bold');
        const style = isBold
          ? ({ ...TEXT, font: 'Helvetica-Bold' } as const)
          : TEXT;
        this.#pages.text('P', this.#parent, runsText(block.runs), {
          ...style,
          indent,
        });
        this.#pages.y += 3;
        return;
      }
      case 'list':
        for (const [index, item] of block.items.entries()) {
          this.#item(
            item,
            block.ordered ? `${index + 1}.` : '•',
            caption,
            indent,
          );
        }
        this.#pages.y += 3;
        return;
      case 'table':
        this.#table(block, caption);
    }
  }

  #item(
    [first, ...rest]: readonly Block[],
    mark: string,
    caption: string,
    indent: number,
  ): void {
    const isText = first?.kind === 'paragraph';
    this.#pages.text(
      'P',
      this.#parent,
      isText ? `${mark} ${runsText(first.runs)}` : mark,
      {
        ...TEXT,
        indent: indent + INDENT,
      },
    );
    const blocks = isText || first === undefined ? rest : [first, ...rest];
    for (const block of blocks)
      this.#block(block, caption, indent + 2 * INDENT);
  }

  #table(block: Extract<Block, { kind: 'table' }>, caption: string): void {
    const { columns, rows } = pdfColumns(block);
    const table = new PdfTable(this.#pages, this.#parent, caption, columns);
    for (const row of rows) {
      table.row(row.map((text) => ({ text })));
      this.#pieces.push(...this.#pages.takePieces());
    }
    table.end();
  }
}

type Table = Extract<Block, { kind: 'table' }>;

/**
 * Number of rows used to determine column widths; more would hardly change
 * them.
 */
const MEASURED_ROWS = 200;
/**
 * Text lengths, in characters, are clamped to this range when widths are
 * determined.
 */
const SHORTEST = 5;
const LONGEST = 60;
/** Texts up to this length, such as a time or a code, count as one word. */
const UNBROKEN_MAX = 24;

/**
 * Converts a table to rows with one text per column, and to columns whose
 * widths fit their content.
 */
export function pdfColumns(table: Table): {
  columns: Column[];
  rows: string[][];
} {
  const count = Math.max(...[...table.head, ...table.rows].map(columnsOf));
  const head = grid(table.head, count);
  const body = grid(table.rows, count);
  const titles = Array.from({ length: count }, (_, column) =>
    unique(head.map((row) => row[column])),
  );
  const columns = titles.map((title, column) => {
    const texts = [
      title,
      ...body.slice(0, MEASURED_ROWS).map((row) => row[column] ?? ''),
    ];
    return { title, width: widthOf(texts) };
  });
  return { columns, rows: body };
}

const columnsOf = (cells: readonly DocumentCell[]): number =>
  cells.reduce((sum, { columns }) => sum + columns, 0);
const unique = (texts: readonly (string | undefined)[]): string =>
  [...new Set(texts.filter(Boolean))].join(' ');

/**
 * A width between the longest word, which should not be broken, and the longest
 * text.
 */
function widthOf(texts: readonly string[]): number {
  const longestOf = (parts: readonly string[]) =>
    Math.max(SHORTEST, ...parts.map(({ length }) => length));
  const pieces = texts.flatMap((text) =>
    text.length <= UNBROKEN_MAX ? [text] : text.split(/\s+/),
  );
  const word = Math.min(longestOf(pieces), LONGEST / 2);
  const whole = Math.min(
    longestOf(texts.flatMap((text) => text.split('\n'))),
    LONGEST,
  );
  return word + (whole - word) / 2;
}

/**
 * Puts cells into their grid positions; the text of a spanning cell is in its
 * first position.
 */
function grid(
  rows: readonly (readonly DocumentCell[])[],
  count: number,
): string[][] {
  // For each column, the number of further rows that a cell above still covers.
  const taken: number[] = Array.from({ length: count }, () => 0);
  return rows.map((cells) => {
    const texts: string[] = Array.from({ length: count }, () => '');
    const isTaken = taken.map((left) => left > 0);
    for (const [column, left] of taken.entries())
      taken[column] = Math.max(0, left - 1);
    let column = 0;
    for (const cell of cells) {
      while (isTaken[column]) column += 1;
      const text = runsText(cell.runs);
      // Overlapping spans may push a cell beyond the last column; its text is
      // appended to the last column.
      const at = Math.min(column, count - 1);
      texts[at] = [texts[at], text].filter(Boolean).join(' ');
      for (
        let next = column;
        next < Math.min(count, column + cell.columns);
        next += 1
      )
        taken[next] = Math.max(taken[next] ?? 0, cell.rows - 1);
      column += cell.columns;
    }
    return texts;
  });
}
