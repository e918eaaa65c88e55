import { ACCENT, type Element, PdfPages, SOFT, type TextStyle } from '../../records/summary/pdf-document.ts';
import { PdfTable } from '../../records/summary/pdf-table.ts';
import { pdfColumns } from './pdf-columns.ts';
import { type Block, type ReadableDocument, runsText, type Section } from './readable-document.ts';

const TEXT = { size: 9 } as const;
const INDENT = 14;

/** Renders a tagged PDF: title, patient and page number on each page, repeated table heads, bookmarks. */
export async function ccdaPdf(document: ReadableDocument): Promise<Uint8Array> {
  const writer = new DocumentWriter(document);
  for (const section of document.sections) writer.section(section, 2);
  return writer.end();
}

class DocumentWriter {
  readonly #pages: PdfPages;
  readonly #pieces: Uint8Array[] = [];
  #parent: Element;

  constructor({ title, patient, birthDate, facts }: ReadableDocument) {
    this.#pages = new PdfPages({
      title: title.length > 60 ? `${title.slice(0, 60)}…` : title,
      patient: { name: patient, birthDate },
      facts: [],
      notes: [],
      sections: [],
    });
    this.#parent = this.#pages.element('Sect');
    this.#lines('H1', title, { font: 'Helvetica-Bold', size: 16 });
    this.#pages.y += 4;
    for (const { label, value } of facts) this.#fact(label, value);
  }

  section({ title, blocks, sections }: Section, level: number): void {
    const pages = this.#pages;
    const outer = this.#parent;
    this.#parent = pages.element('Sect');
    // Avoids a heading alone at the end of a page.
    if (pages.room < 90) pages.newPage();
    pages.y += 8;
    if (level === 2) pages.bookmark(title);
    this.#lines(`H${Math.min(level, 6)}`, title, {
      font: 'Helvetica-Bold',
      size: level === 2 ? 13 : 11,
      color: ACCENT,
    });
    if (level === 2) pages.artifact('Layout', () => pages.rule(pages.y));
    pages.y += 5;
    if (blocks.length + sections.length === 0)
      this.#lines('P', 'This section is empty.', { ...TEXT, color: SOFT });
    for (const block of blocks) this.#block(block, title, 0);
    for (const section of sections) this.section(section, level + 1);
    this.#parent.end();
    this.#parent = outer;
    this.#pieces.push(...pages.takePieces());
  }

  async end(): Promise<Uint8Array> {
    for (const remark of this.#pages.remarks) this.#lines('P', remark, { size: 8, color: SOFT });
    this.#parent.end();
    await this.#pages.end();
    return Buffer.concat([...this.#pieces, ...this.#pages.takePieces()]);
  }

  #block(block: Block, caption: string, indent: number): void {
    switch (block.kind) {
      case 'paragraph': {
        const isBold = block.runs.every(({ style }) => style === 'bold');
        const style = isBold ? ({ ...TEXT, font: 'Helvetica-Bold' } as const) : TEXT;
        this.#lines('P', runsText(block.runs), style, indent);
        this.#pages.y += 3;
        return;
      }
      case 'list':
        for (const [index, item] of block.items.entries()) {
          this.#item(item, block.ordered ? `${index + 1}.` : '•', caption, indent);
        }
        this.#pages.y += 3;
        return;
      case 'table':
        this.#table(block, caption);
    }
  }

  #item([first, ...rest]: readonly Block[], mark: string, caption: string, indent: number): void {
    const isText = first?.kind === 'paragraph';
    this.#lines('P', isText ? `${mark} ${runsText(first.runs)}` : mark, TEXT, indent + INDENT);
    const blocks = isText || first === undefined ? rest : [first, ...rest];
    for (const block of blocks) this.#block(block, caption, indent + 2 * INDENT);
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

  #fact(label: string, value: string): void {
    const pages = this.#pages;
    const labelWidth = 84;
    const lines = pages.lines(value, pages.width - labelWidth, TEXT);
    if (pages.room < lines.length * 12) pages.newPage();
    pages.tagged('P', this.#parent, () => {
      pages.line(label, pages.left, pages.y, { ...TEXT, color: SOFT });
      for (const line of lines) {
        pages.line(line, pages.left + labelWidth, pages.y, TEXT);
        pages.y += 12;
      }
    });
  }

  /** Draws lines of text; they continue on the next page when the current one is full. */
  #lines(type: string, text: string, style: TextStyle & { size: number }, indent = 0): void {
    const pages = this.#pages;
    const height = style.size * 1.25;
    const x = pages.left + Math.min(indent, pages.width / 2);
    const lines = pages.lines(text, pages.width - (x - pages.left), style);
    for (let from = 0; from < lines.length; ) {
      if (pages.room < height) pages.newPage();
      const part = lines.slice(from, from + Math.max(1, Math.floor(pages.room / height)));
      pages.tagged(type, this.#parent, () => {
        for (const line of part) {
          pages.line(line, x, pages.y, style);
          pages.y += height;
        }
      });
      from += part.length;
    }
  }
}
