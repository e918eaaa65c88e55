import type { OverviewBlock, OverviewItem, SummaryNote } from './parts.ts';
import { ACCENT, ALERT, type Element, type PdfPages, SOFT, type TextStyle } from './pdf-document.ts';

const GUTTER = 18;
const LINE = 10;
const TITLE: TextStyle = { font: 'Helvetica-Bold', size: 9.5, color: ACCENT };
const NAME: TextStyle = { font: 'Helvetica-Bold', size: 8 };
const ALERT_NAME: TextStyle = { ...NAME, color: ALERT };
const PLAIN: TextStyle = { size: 8, color: SOFT };
const LINK: TextStyle = { size: 8, color: ACCENT };

/** Lines that stay together in one column. */
interface Box {
  tag: 'H3' | 'P';
  lines: readonly Line[];
  /** Space above the lines. */
  above: number;
  /** The section to which the lines lead. */
  leadsTo?: string;
}
interface Line {
  text: string;
  style: TextStyle;
  /** Drawn on the same line, at the right edge of the column. */
  right?: string;
}

const heightOf = ({ lines, above }: Box): number => above + lines.length * LINE;
const sum = (boxes: readonly Box[]): number => boxes.reduce((total, box) => total + heightOf(box), 0);

/** Draws the overview in two columns, on as many pages as the longer one needs: usually the first only. */
export function drawOverview(pages: PdfPages, section: Element, blocks: readonly OverviewBlock[]): void {
  const width = (pages.width - GUTTER) / 2;
  const columns = balanced(blocks.map((block) => boxesOf(block, pages, width))).map((boxes, index) => ({
    boxes,
    left: pages.left + index * (width + GUTTER),
    right: pages.left + index * (width + GUTTER) + width,
    next: 0,
  }));
  for (;;) {
    const top = pages.y;
    let bottom = top;
    for (const column of columns) {
      pages.y = top;
      for (let box = column.boxes[column.next]; box !== undefined; box = column.boxes[column.next]) {
        // A title stays on one page with its first item.
        const following = box.tag === 'H3' ? column.boxes[column.next + 1] : undefined;
        const needed = heightOf(box) + (following === undefined ? 0 : heightOf(following));
        if (pages.room < needed && needed <= pages.pageHeight) break;
        draw(box, pages, section, column);
        column.next += 1;
      }
      bottom = Math.max(bottom, pages.y);
    }
    pages.y = bottom;
    if (columns.every(({ boxes, next }) => next === boxes.length)) break;
    pages.newPage();
  }
  pages.y += 8;
}

function draw(
  { tag, lines, above, leadsTo }: Box,
  pages: PdfPages,
  section: Element,
  at: { left: number; right: number },
): void {
  pages.y += above;
  if (leadsTo !== undefined) {
    const paragraph = pages.element(tag, section);
    for (const { text, style } of lines) {
      pages.lineTo(leadsTo, text, at.left, pages.y, paragraph, style);
      pages.y += LINE;
    }
    paragraph.end();
    return;
  }
  pages.tagged(tag, section, () => {
    for (const { text, style, right } of lines) {
      pages.line(text, at.left, pages.y, style);
      if (right !== undefined) pages.line(right, at.left, pages.y, { ...PLAIN, rightEdge: at.right });
      pages.y += LINE;
    }
  });
}

/** Splits the blocks, in their order, so that the higher column is as low as possible. */
function balanced(blocks: readonly (readonly Box[])[]): (readonly Box[])[] {
  const splits = blocks.map((_, index) => [
    blocks.slice(0, index + 1).flat(),
    blocks.slice(index + 1).flat(),
  ]);
  const height = (columns: readonly (readonly Box[])[]) => Math.max(...columns.map(sum));
  return splits.reduce((best, each) => (height(each) < height(best) ? each : best), splits[0] ?? []);
}

function boxesOf({ title, items, notes, rest }: OverviewBlock, pages: PdfPages, width: number): Box[] {
  const paragraph = (text: string, style: TextStyle): Box => ({
    tag: 'P',
    lines: pages.lines(text, width, style).map((line) => ({ text: line, style })),
    above: 1,
  });
  return [
    { tag: 'H3', lines: [{ text: title, style: TITLE }], above: 7 },
    ...items.map((item) => itemBox(item, pages, width)),
    ...notes.map(({ text, tone }) => paragraph(text, STYLES[tone ?? 'plain'])),
    ...(rest === undefined ? [] : [{ ...paragraph(rest.text, LINK), leadsTo: rest.section }]),
  ];
}

const STYLES: Readonly<Record<NonNullable<SummaryNote['tone']> | 'plain', TextStyle>> = {
  plain: PLAIN,
  stated: NAME,
  alert: ALERT_NAME,
};

function itemBox({ text, detail, tone }: OverviewItem, pages: PdfPages, width: number): Box {
  const style = tone === 'alert' ? ALERT_NAME : NAME;
  const isShort = pages.lines(`${text}    ${detail}`, width, NAME).length === 1;
  const lines = isShort
    ? [{ text, style, right: detail }]
    : [
        ...pages.lines(text, width, style).map((line) => ({ text: line, style })),
        ...(detail === ''
          ? []
          : pages.lines(detail, width, PLAIN).map((line) => ({ text: line, style: PLAIN }))),
      ];
  return { tag: 'P', lines, above: 1 };
}
