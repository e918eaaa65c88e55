import type { SummaryBodyPart, SummaryHead, SummaryPart } from './parts.ts';
import {
  ACCENT,
  ALERT,
  type Element,
  PdfPages,
  SOFT,
  type TextStyle,
} from './pdf-document.ts';
import { drawCharts, drawOverview } from './pdf-overview.ts';
import { PdfTable } from './pdf-table.ts';

/**
 * Renders a summary as a tagged PDF, piece by piece: name, date of birth and
 * page number on each page, repeated table heads, links to the sections,
 * bookmarks. Draws no faster than the caller reads.
 */
export async function* renderPdf(
  parts: AsyncIterable<SummaryPart>,
): AsyncGenerator<Uint8Array> {
  let writer: SummaryWriter | undefined;
  for await (const part of parts) {
    if (part.kind === 'head') writer = new SummaryWriter(part.head);
    else writer?.write(part);
    const pieces = writer?.pages.takePieces() ?? [];
    if (pieces.length > 0) yield Buffer.concat(pieces);
  }
  if (writer === undefined) throw new Error('a summary begins with its head');
  await writer.end();
  yield Buffer.concat(writer.pages.takePieces());
}

const PARAGRAPHS = {
  plain: { size: 8, color: SOFT },
  stated: { size: 8, font: 'Helvetica-Bold' },
  alert: { size: 8, font: 'Helvetica-Bold', color: ALERT },
} as const;

class SummaryWriter {
  readonly pages: PdfPages;
  #section: Element;
  #table: PdfTable | undefined;
  #notes: string[];

  constructor(head: SummaryHead) {
    this.pages = new PdfPages(head);
    this.#section = this.pages.element('Sect');
    this.#notes = [...head.notes];
    this.#writeHead(head);
  }

  write(part: SummaryBodyPart): void {
    switch (part.kind) {
      case 'overview':
        this.#beginSection('Overview', 'overview');
        drawOverview(this.pages, this.#section, part.blocks);
        break;
      case 'section':
        // How to read the summary, below the overview: that fits on one page
        // so.
        for (const note of this.#notes.splice(0)) this.#paragraph(note);
        this.#beginSection(part.title, part.id);
        break;
      case 'note':
        this.#paragraph(part.text, part.tone);
        break;
      case 'charts':
        drawCharts(this.pages, this.#section, part.charts);
        break;
      case 'table':
        this.#table = new PdfTable(
          this.pages,
          this.#section,
          part.caption,
          part.columns,
        );
        break;
      case 'group':
        this.#table?.group(part.title);
        break;
      case 'row':
        this.#table?.row(part.cells);
        break;
      case 'tableEnd':
        this.#table?.end();
        this.#table = undefined;
        this.#paragraph(
          `${part.rows} ${part.rows === 1 ? 'entry' : 'entries'}`,
        );
        break;
    }
  }

  async end(): Promise<void> {
    for (const remark of this.pages.remarks) this.#paragraph(remark);
    this.#section.end();
    await this.pages.end();
  }

  #writeHead({ patient, facts, alert, sections }: SummaryHead): void {
    const { pages } = this;
    const big = { font: 'Helvetica-Bold', size: 18 } as const;
    pages.text('H1', this.#section, patient.name, { ...big, lineHeight: 22 });
    pages.y += 2;
    const fact = {
      font: 'Helvetica-Bold',
      size: 9,
      lineHeight: 12,
      indent: 54,
    } as const;
    const width = pages.width / 2 - 6;
    for (let from = 0; from < facts.length; from += 2) {
      const top = pages.y;
      const bottoms = facts
        .slice(from, from + 2)
        .map(({ label, value, tone }, index) => {
          pages.y = top;
          const left = pages.left + index * (pages.width / 2 + 6);
          pages.text('P', this.#section, value, {
            ...fact,
            ...(tone === 'alert' && { color: ALERT }),
            label,
            left,
            width,
          });
          return pages.y;
        });
      pages.y = Math.max(...bottoms);
    }
    pages.y += 4;
    if (alert !== undefined) this.#paragraph(alert, 'alert');
    drawContents(pages, this.#section, sections);
  }

  #beginSection(title: string, id: string): void {
    const { pages } = this;
    this.#section.end();
    this.#section = pages.element('Sect');
    // Avoids a heading alone at the end of a page.
    if (pages.room < 90) pages.newPage();
    pages.y += 5;
    pages.bookmark(title, id);
    const style = { font: 'Helvetica-Bold', size: 13, color: ACCENT } as const;
    pages.tagged('H2', this.#section, () =>
      pages.line(title, pages.left, pages.y, style),
    );
    pages.y += 18;
    pages.artifact('Layout', () => pages.rule(pages.y - 2));
    pages.y += 4;
  }

  #paragraph(text: string, tone?: 'stated' | 'alert'): void {
    this.pages.text('P', this.#section, text, PARAGRAPHS[tone ?? 'plain']);
    this.pages.y += 4;
  }
}

const STYLE: TextStyle = { size: 8, color: ACCENT };
const LINE = 11;
const GAP = 12;

/**
 * The table of contents: the titles of the sections beside each other, each a
 * link.
 */
function drawContents(
  pages: PdfPages,
  parent: Element,
  sections: SummaryHead['sections'],
): void {
  const contents = pages.element('TOC', parent);
  let x = pages.left;
  for (const { id, title } of sections) {
    const width = pages.widthOf(title, STYLE);
    if (x > pages.left && x + width > pages.left + pages.width) {
      x = pages.left;
      pages.y += LINE;
    }
    if (pages.room < LINE) pages.newPage();
    const entry = pages.element('TOCI', contents);
    pages.lineTo(id, title, x, pages.y, entry, STYLE);
    entry.end();
    x += width + GAP;
  }
  contents.end();
  pages.y += LINE + 2;
}
