import type { Column, SummaryCell } from './parts.ts';
import {
  ACCENT,
  ALERT,
  type Element,
  INK,
  type PdfPages,
  SOFT,
  type TextStyle,
} from './pdf-document.ts';

const SIZE = 8;
const LINE = 10;
const PADDING = 3;
/**
 * From a row's upper edge to its first line, so that the text is vertically
 * centred.
 */
const TOP = PADDING + 1;
const HEAD: TextStyle = { font: 'Helvetica-Bold', size: SIZE };
const GROUP: TextStyle = { ...HEAD, color: ACCENT };

interface PlacedColumn extends Column {
  x: number;
  textWidth: number;
}

/**
 * A table over as many pages as needed; its head is repeated on each, and a row
 * is split only if it exceeds a page.
 */
export class PdfTable {
  readonly #element: Element;
  readonly #columns: readonly PlacedColumn[];
  /** The current group heading, repeated on each page. */
  #group: string | undefined;
  private readonly pages: PdfPages;
  private readonly parent: Element;
  private readonly caption: string;

  constructor(
    pages: PdfPages,
    parent: Element,
    caption: string,
    columns: readonly Column[],
  ) {
    this.pages = pages;
    this.parent = parent;
    this.caption = caption;

    const total = columns.reduce((sum, { width = 1 }) => sum + width, 0);
    let x = pages.left;
    this.#columns = columns.map((column) => {
      const width = ((column.width ?? 1) * pages.width) / total;
      const placed = {
        ...column,
        x: x + PADDING,
        textWidth: width - 2 * PADDING,
      };
      x += width;
      return placed;
    });
    if (pages.room < 70) pages.newPage();
    this.#element = pages.element('Table', parent);
    pages.tagged('Caption', this.#element, () => this.#drawCaption(caption));
    this.#head((draw) => {
      const tr = pages.element('TR', this.#element);
      for (const [index] of this.#columns.entries())
        pages.tagged('TH', tr, () => draw(index), { scope: 'Column' });
      tr.end();
    });
  }

  group(title: string): void {
    this.#group = undefined;
    const lines = this.#groupLines(title);
    // A group heading stays on one page with its first row.
    this.#makeRoom(lines.length * LINE + 2 * PADDING + 24);
    this.#group = title;
    const tr = this.pages.element('TR', this.#element);
    this.pages.tagged('TH', tr, () => this.#drawGroup(lines), { scope: 'Row' });
    tr.end();
    this.#close(lines.length);
  }

  row(cells: readonly SummaryCell[]): void {
    const lines = this.#columns.map(({ textWidth }, index) =>
      this.pages.lines(
        cells[index]?.text ?? '',
        textWidth,
        styleOf(cells[index]),
      ),
    );
    // A row that is higher than a page continues on the next pages.
    const most = Math.max(1, Math.floor((this.pages.pageHeight - 60) / LINE));
    const height = Math.max(...lines.map(({ length }) => length));
    for (let from = 0; from < height; from += most)
      this.#part(
        cells,
        lines.map((each) => each.slice(from, from + most)),
      );
  }

  end(): void {
    this.#element.end();
    this.pages.y += 4;
  }

  #part(
    cells: readonly SummaryCell[],
    lines: readonly (readonly string[])[],
  ): void {
    const height = Math.max(1, ...lines.map(({ length }) => length));
    this.#makeRoom(height * LINE + 2 * PADDING);
    const top = this.pages.y + TOP;
    const draw = (column: PlacedColumn, index: number) =>
      this.#draw(lines[index] ?? [], column, top, styleOf(cells[index]));
    if (this.pages.canTagCells) this.#tagCells(draw);
    else
      this.pages.tagged('P', this.parent, () => {
        for (const [index, column] of this.#columns.entries())
          draw(column, index);
      });
    this.#close(height);
  }

  #tagCells(draw: (column: PlacedColumn, index: number) => void): void {
    const tr = this.pages.element('TR', this.#element);
    for (const [index, column] of this.#columns.entries())
      this.pages.tagged(
        index === 0 ? 'TH' : 'TD',
        tr,
        () => draw(column, index),
        index === 0 ? { scope: 'Row' } : {},
      );
    tr.end();
  }

  #draw(
    lines: readonly string[],
    { x, textWidth, isNumeric }: PlacedColumn,
    top: number,
    style: TextStyle,
  ): void {
    for (const [index, line] of lines.entries())
      this.pages.line(line, x, top + index * LINE, {
        ...style,
        ...(isNumeric && { rightEdge: x + textWidth }),
      });
  }

  #close(lines: number): void {
    this.pages.y += lines * LINE + 2 * PADDING;
    this.pages.artifact('Layout', () => this.pages.rule(this.pages.y));
  }

  #makeRoom(height: number): void {
    if (this.pages.room >= height) return;
    this.pages.newPage();
    // Repeated on every page, but read only once by screen readers.
    this.pages.artifact('Pagination', () =>
      this.#drawCaption(`${this.caption} (continued)`),
    );
    this.#head((draw) =>
      this.pages.artifact('Pagination', () => {
        for (const [index] of this.#columns.entries()) draw(index);
      }),
    );
    if (this.#group === undefined) return;
    const lines = this.#groupLines(`${this.#group} (continued)`);
    this.pages.artifact('Pagination', () => this.#drawGroup(lines));
    this.#close(lines.length);
  }

  #groupLines(title: string): string[] {
    return this.pages.lines(title, this.pages.width - 2 * PADDING, GROUP);
  }

  #drawGroup(lines: readonly string[]): void {
    const { left, y } = this.pages;
    for (const [index, line] of lines.entries())
      this.pages.line(line, left + PADDING, y + TOP + index * LINE, GROUP);
  }

  #drawCaption(text: string): void {
    this.pages.line(text, this.pages.left, this.pages.y, {
      font: 'Helvetica-Bold',
      size: 9,
    });
    this.pages.y += 14;
  }

  #head(write: (draw: (column: number) => void) => void): void {
    const lines = this.#columns.map(({ title, textWidth }) =>
      this.pages.lines(title, textWidth, HEAD),
    );
    const height =
      Math.max(...lines.map(({ length }) => length)) * LINE + 2 * PADDING;
    this.pages.artifact('Layout', () => this.pages.band(this.pages.y, height));
    const top = this.pages.y + TOP;
    write((index) => {
      const column = this.#columns[index];
      if (column !== undefined)
        this.#draw(lines[index] ?? [], column, top, HEAD);
    });
    this.pages.y += height;
  }
}

const styleOf = (cell: SummaryCell | undefined): TextStyle => {
  switch (cell?.tone) {
    case 'alert':
      return { font: 'Helvetica-Bold', size: SIZE, color: ALERT };
    case 'muted':
      return { size: SIZE, color: SOFT };
    default:
      return { size: SIZE, color: INK };
  }
};
