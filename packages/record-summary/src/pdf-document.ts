import PDFDocument from 'pdfkit';
import type { SummaryHead } from './parts.ts';
import {
  areLettersRight,
  type Face,
  type FontRun,
  faceBytes,
  LineBreaker,
  runsOf,
  showable,
} from './pdf-text.ts';

/** US letter, in points. */
const PAGE = {
  width: 612,
  height: 792,
  left: 40,
  right: 572,
  top: 62,
  bottom: 752,
} as const;
export const INK = '#16202a';
export const SOFT = '#45525f';
export const ACCENT = '#0b4a78';
export const ALERT = '#9b1c1c';
export const BAND = '#eef2f6';
export const RULE = '#cdd5dd';

/** Enough for about 5,000 rows. */
const CELL_TAGS_MAX = 40_000;

/** Height of Helvetica above the baseline. */
const ASCENT = 0.718;
/**
 * pdfkit would keep the layout of every word of an embedded font; with (any)
 * features it keeps none.
 */
const UNCACHED = { features: [] };

export const NOT_WHOLE =
  'A question mark in this PDF may replace a rare character. The html format shows all characters.';
export const NOT_JOINED =
  'This PDF shows words of some scripts letter by letter, not joined as they are written. The html format shows them properly.';

export type Font = 'Helvetica' | 'Helvetica-Bold';

/** Widths kept for each font and size, and what fits into a line. */
const KEPT_WIDTHS = 5_000;
const LONGEST_KEPT = 150;

/**
 * pdfkit measures each line two more times when it draws it, makes bytes of
 * each operator, and sends each of them as an event. This one measures a text
 * once, makes bytes of a page, and keeps them until they are taken.
 */
class Doc extends PDFDocument {
  readonly #widthsOf = new Map<string, Map<string, number>>();
  #widths = new Map<string, number>();
  /**
   * What was written and not taken; pdfkit writes already while it is
   * constructed.
   */
  declare pieces: Uint8Array[] | undefined;
  #drawn = '';

  /** Sets the font and its size. */
  use(font: Font | Face, size: number): this {
    const name = `${font} ${size}`;
    this.#widths = this.#widthsOf.get(name) ?? new Map();
    this.#widthsOf.set(name, this.#widths);
    return this.font(font).fontSize(size);
  }

  override widthOfString(
    text: string,
    options?: PDFKit.Mixins.TextOptions,
  ): number {
    const known = this.#widths.get(text);
    if (known !== undefined) return known;
    const width = super.widthOfString(text, options);
    if (this.#widths.size >= KEPT_WIDTHS) this.#widths.clear();
    if (text.length <= LONGEST_KEPT) this.#widths.set(text, width);
    return width;
  }

  override addContent(operator: string): this {
    this.#drawn += `${operator}\n`;
    return this;
  }

  override flushPages(): void {
    if (this.#drawn !== '')
      super.addContent(Buffer.from(this.#drawn, 'latin1'));
    this.#drawn = '';
    super.flushPages();
  }

  override push(piece: Uint8Array | null): boolean {
    if (piece === null) return super.push(null);
    this.pieces ??= [];
    this.pieces.push(piece);
    return true;
  }
}

export type Element = ReturnType<Doc['struct']>;

interface TagOptions {
  scope?: 'Row' | 'Column';
  /** What a figure shows. */
  alt?: string;
}

export interface TextStyle {
  font?: Font;
  size?: number;
  color?: string;
}

interface TextLayout {
  left?: number;
  width?: number;
  indent?: number;
  lineHeight?: number;
  /** Drawn before the first line, in the space of the indent. */
  label?: string;
}

/**
 * The pages of a PDF summary, each with the patient's name, date of birth and
 * the page number, and with tags for screen readers. Finished content can be
 * taken at once (`takePieces`); only the tag structure stays in memory.
 */
export class PdfPages {
  readonly left = PAGE.left;
  readonly width = PAGE.right - PAGE.left;
  /** Vertical position of the next content, in points from the top. */
  y: number = PAGE.top;
  readonly #remarks = new Set<string>();
  readonly #doc: Doc;
  readonly #embedded = new Set<Face>();
  readonly #breakers = new Map<string, LineBreaker>();
  readonly #root: Element;
  readonly #total: PDFKit.PDFKitReference;
  #pages = 0;
  #elements = 0;
  private readonly head: SummaryHead;

  constructor(head: SummaryHead) {
    this.head = head;

    this.#doc = new Doc({
      size: 'LETTER',
      margin: 0,
      autoFirstPage: false,
      pdfVersion: '1.7',
      tagged: true,
      lang: 'en-US',
      displayTitle: true,
      info: {
        Title: `${head.title}: ${head.patient.name}`,
        Producer: 'Medical data exchange',
      },
    });
    const font = this.#doc.ref({
      Type: 'Font',
      Subtype: 'Type1',
      BaseFont: 'Helvetica',
      Encoding: 'WinAnsiEncoding',
    });
    font.end(undefined);
    // The number of pages is known only at the end: each page refers to this
    // form, which is drawn then.
    this.#total = this.#doc.ref({
      Type: 'XObject',
      Subtype: 'Form',
      BBox: [0, -4, 60, 12],
      Resources: { Font: { F1: font } },
    });
    this.#root = this.#doc.struct('Document', {});
    this.#doc.addStructure(this.#root);
    this.newPage();
  }

  /** Returns and removes the bytes written since the last call. */
  takePieces(): Uint8Array[] {
    return this.#doc.pieces?.splice(0) ?? [];
  }

  get pageHeight(): number {
    return PAGE.bottom - PAGE.top;
  }

  get room(): number {
    return PAGE.bottom - this.y;
  }

  newPage(): void {
    this.#doc.addPage();
    this.#pages += 1;
    this.y = PAGE.top;
    this.artifact('Pagination', () => this.#pageFrame());
  }

  /**
   * Tags stay in memory to the end, so in a very large record later rows are
   * tagged as a whole, not cell by cell.
   */
  get canTagCells(): boolean {
    return this.#elements < CELL_TAGS_MAX;
  }

  /**
   * What the reader must know about characters that were not drawn as they are
   * written; complete when all is drawn.
   */
  get remarks(): readonly string[] {
    return [...this.#remarks];
  }

  /**
   * Adds a tag element to `parent` or to the document. The caller must call its
   * `end()`.
   */
  element(type: string, parent?: Element, options: TagOptions = {}): Element {
    this.#elements += 1;
    const element = this.#doc.struct(
      type,
      options as PDFKit.Mixins.StructureElementOptions,
    );
    (parent ?? this.#root).add(element);
    return element;
  }

  /** Draws content within a tag element of its own. */
  tagged(
    type: string,
    parent: Element,
    draw: () => void,
    options?: TagOptions,
  ): void {
    const element = this.element(type, parent, options);
    element.add(draw);
    element.end();
  }

  /** Draws something that screen readers skip: lines, repeated table heads. */
  artifact(type: 'Pagination' | 'Layout', draw: () => void): void {
    this.#doc.markContent('Artifact', { type });
    draw();
    this.#doc.endMarkedContent();
  }

  lines(
    text: string,
    width: number,
    { font = 'Helvetica', size = 8.5 }: TextStyle = {},
  ): string[] {
    const breaker = this.#breaker(font, size);
    return text
      .split('\n')
      .flatMap((line) => breaker.lines(this.#show(line), width));
  }

  /** Draws one line, without breaking it. */
  line(
    content: string,
    x: number,
    y: number,
    style: TextStyle & { rightEdge?: number } = {},
  ): void {
    const text = this.#show(content);
    const { font = 'Helvetica', size = 8.5, color = INK, rightEdge } = style;
    let at =
      rightEdge === undefined ? x : rightEdge - this.#measure(text, font, size);
    this.#doc.fillColor(color);
    const runs = runsOf(text);
    for (const [index, run] of runs.entries()) {
      const doc = this.#useFont(run, font, size);
      doc.text(run.text, at, y + ASCENT * size, {
        ...UNCACHED,
        lineBreak: false,
        baseline: 'alphabetic',
      });
      if (index < runs.length - 1) at += doc.widthOfString(run.text, UNCACHED);
    }
  }

  /**
   * Draws a text as one element; it continues on the next page when the current
   * one is full.
   */
  text(
    type: string,
    parent: Element,
    text: string,
    style: TextStyle & TextLayout = {},
  ): void {
    const {
      size = 8.5,
      indent = 0,
      label,
      left = this.left,
      width = this.width,
    } = style;
    const height = style.lineHeight ?? size * 1.25;
    const x = left + Math.min(indent, width / 2);
    const lines = this.lines(text, width - (x - left), style);
    for (let from = 0; from < lines.length; ) {
      if (this.room < height) this.newPage();
      const part = lines.slice(
        from,
        from + Math.max(1, Math.floor(this.room / height)),
      );
      this.tagged(type, parent, () => {
        if (label !== undefined && from === 0)
          this.line(label, left, this.y, { size, color: SOFT });
        for (const line of part) {
          this.line(line, x, this.y, style);
          this.y += height;
        }
      });
      from += part.length;
    }
  }

  rule(y: number, color = RULE): void {
    this.#doc
      .moveTo(PAGE.left, y)
      .lineTo(PAGE.right, y)
      .lineWidth(0.5)
      .strokeColor(color)
      .stroke();
  }

  band(y: number, height: number, color = BAND): void {
    this.#doc.rect(PAGE.left, y, this.width, height).fill(color);
  }

  box(
    x: number,
    y: number,
    width: number,
    height: number,
    color: string,
  ): void {
    this.#doc.rect(x, y, width, height).fill(color);
  }

  polyline(
    points: readonly (readonly [number, number])[],
    color: string,
    isDashed = false,
  ): void {
    const [first, ...rest] = points;
    if (first === undefined) return;
    const doc = this.#doc
      .lineWidth(isDashed || color !== RULE ? 0.9 : 0.4)
      .strokeColor(color)
      .moveTo(...first);
    for (const point of rest) doc.lineTo(...point);
    if (isDashed) doc.dash(2, { space: 1.5 });
    doc.stroke();
    if (isDashed) doc.undash();
  }

  /** Marks a value in a chart. */
  mark(
    kind: 'dot' | 'ring' | 'diamond',
    x: number,
    y: number,
    color: string,
  ): void {
    const doc = this.#doc.lineWidth(0.8);
    if (kind === 'diamond')
      doc
        .polygon([x, y - 2.8], [x + 2.8, y], [x, y + 2.8], [x - 2.8, y])
        .fill(color);
    else if (kind === 'dot') doc.circle(x, y, 1.6).fill(color);
    else doc.circle(x, y, 1.6).fillAndStroke('#fff', color);
  }

  /** Draws one line that leads to a section. */
  lineTo(
    section: string,
    text: string,
    x: number,
    y: number,
    parent: Element,
    style: TextStyle = {},
  ): void {
    const { size = 8.5 } = style;
    const link = this.element('Link', parent);
    link.add(() => {
      this.line(text, x, y, style);
      // pdfkit writes a plain string as a name of PDF.
      const options = {
        structParent: link,
        Contents: new String(text) as string,
      };
      this.#doc.goTo(
        x,
        y - 1,
        this.widthOf(text, style),
        size + 2,
        section,
        options,
      );
    });
    link.end();
  }

  /** The width of a text on one line. */
  widthOf(
    text: string,
    { font = 'Helvetica', size = 8.5 }: TextStyle = {},
  ): number {
    return this.#measure(this.#show(text), font, size);
  }

  /**
   * Adds a bookmark that leads here; `section` is the name by which links lead
   * here.
   */
  bookmark(title: string, section?: string): void {
    // pdfkit takes `left` from the right edge.
    const here: { expanded?: boolean; top: number; left: number } = {
      top: this.y,
      left: PAGE.width,
    };
    this.#doc.outline.addItem(title, here);
    if (section !== undefined)
      this.#doc.addNamedDestination(section, 'XYZ', 0, this.y, 0);
  }

  /**
   * Writes the rest of the document; afterwards `takePieces` returns its last
   * bytes.
   */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      this.#doc.once('end', resolve).once('error', reject);
    });
    this.#total.end(
      Buffer.from(`BT /F1 7.5 Tf 0.27 0.32 0.37 rg (of ${this.#pages}) Tj ET`),
    );
    this.#root.end();
    this.#doc.end();
    this.#doc.resume();
    await ended;
  }

  #show(text: string): string {
    const shown = showable(text);
    if (!shown.isWhole) this.#remarks.add(NOT_WHOLE);
    if (!areLettersRight(shown.text)) this.#remarks.add(NOT_JOINED);
    return shown.text;
  }

  #measure(text: string, font: Font, size: number): number {
    let width = 0;
    for (const run of runsOf(text))
      width += this.#useFont(run, font, size).widthOfString(run.text, UNCACHED);
    return width;
  }

  #useFont({ face }: FontRun, font: Font, size: number): Doc {
    const name =
      face === 'Wide' && font === 'Helvetica-Bold' ? 'WideBold' : face;
    if (name !== 'BuiltIn' && !this.#embedded.has(name)) {
      this.#embedded.add(name);
      this.#doc.registerFont(name, faceBytes(name));
    }
    return this.#doc.use(name === 'BuiltIn' ? font : name, size);
  }

  #breaker(font: Font, size: number): LineBreaker {
    const name = `${font} ${size}`;
    const known = this.#breakers.get(name);
    if (known !== undefined) return known;
    const breaker = new LineBreaker((text) => this.#measure(text, font, size));
    this.#breakers.set(name, breaker);
    return breaker;
  }

  #pageFrame(): void {
    const { patient, title } = this.head;
    const style = { font: 'Helvetica-Bold', size: 9 } as const;
    const who = this.lines(`${patient.name}, born ${patient.born}`, 340, style);
    const y = patient.died === undefined ? 32 : 22;
    this.line(who[0] ?? '', PAGE.left, y, style);
    // On a line of its own, so that a long name does not cut it off.
    if (patient.died !== undefined) {
      const died = `Died ${patient.died}`;
      this.line(died, PAGE.left, 34, { ...style, color: ALERT });
    }
    this.line(title, 0, 33, { size: 8, color: SOFT, rightEdge: PAGE.right });
    this.rule(48, ACCENT);
    const number = `Page ${this.#pages}`;
    const x = PAGE.right - 62;
    this.line(number, x, 762, { size: 7.5, color: SOFT });
    const { page } = this.#doc as Doc & {
      page: { xobjects: Record<string, unknown> };
    };
    page.xobjects.Total = this.#total;
    // The y axis of the page points down, that of the form up.
    const after = x + this.#measure(`${number} `, 'Helvetica', 7.5);
    this.#doc.addContent(
      `q 1 0 0 -1 ${after.toFixed(2)} 767.39 cm /Total Do Q`,
    );
  }
}
