import type {
  Chart,
  OverviewBlock,
  OverviewItem,
  Shape,
  SummaryNote,
} from './parts.ts';
import {
  ACCENT,
  ALERT,
  BAND,
  type Element,
  type PdfPages,
  RULE,
  SOFT,
  type TextStyle,
} from './pdf-document.ts';

const GUTTER = 18;
/** Of the text, in points; the smaller one if the other does not fit on the page. */
const SIZES = [8, 7.2] as const;
/** Of a line, in sizes of its text. */
const LINE = 1.14;

const stylesOf = (size: number) => {
  const name: TextStyle = { font: 'Helvetica-Bold', size };
  return {
    line: size * LINE,
    title: { font: 'Helvetica-Bold', size: size * 1.19, color: ACCENT },
    name,
    alertName: { ...name, color: ALERT },
    plain: { size, color: SOFT },
    link: { size, color: ACCENT },
  } satisfies Record<string, TextStyle | number>;
};
type Styles = ReturnType<typeof stylesOf>;

/** Lines that stay together in one column. */
interface Box {
  tag: 'H3' | 'P';
  lines: readonly Line[];
  /** The height of each of them. */
  line: number;
  /** Space above the lines. */
  above: number;
  /** The section to which the lines lead. */
  leadsTo?: string;
}
interface Line {
  text: string;
  style: TextStyle;
  /** Drawn on the same line, at the right edge of the column. */
  right?: { text: string; style: TextStyle };
}

const heightOf = ({ lines, line, above }: Box): number =>
  above + lines.length * line;
const sum = (boxes: readonly Box[]): number =>
  boxes.reduce((total, box) => total + heightOf(box), 0);

/**
 * Draws the overview in two columns, on as many pages as the longer one needs:
 * usually the first only.
 */
export function drawOverview(
  pages: PdfPages,
  section: Element,
  blocks: readonly OverviewBlock[],
): void {
  const width = (pages.width - GUTTER) / 2;
  const [usual = [], small = []] = SIZES.map((size) =>
    balanced(
      blocks.map((block) => boxesOf(block, pages, width, stylesOf(size))),
      pages.room,
    ),
  );
  const isFitting = heightOfColumns(usual) <= pages.room;
  const columns = (isFitting ? usual : small).map((boxes, index) => ({
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
      for (
        let box = column.boxes[column.next];
        box !== undefined;
        box = column.boxes[column.next]
      ) {
        // A title stays on one page with its first item.
        const following =
          box.tag === 'H3' ? column.boxes[column.next + 1] : undefined;
        const needed =
          heightOf(box) + (following === undefined ? 0 : heightOf(following));
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
  { tag, lines, line, above, leadsTo }: Box,
  pages: PdfPages,
  section: Element,
  at: { left: number; right: number },
): void {
  pages.y += above;
  if (leadsTo !== undefined) {
    const paragraph = pages.element(tag, section);
    for (const { text, style } of lines) {
      pages.lineTo(leadsTo, text, at.left, pages.y, paragraph, style);
      pages.y += line;
    }
    paragraph.end();
    return;
  }
  pages.tagged(tag, section, () => {
    for (const { text, style, right } of lines) {
      pages.line(text, at.left, pages.y, style);
      if (right !== undefined)
        pages.line(right.text, at.left, pages.y, {
          ...right.style,
          rightEdge: at.right,
        });
      pages.y += line;
    }
  });
}

/**
 * Splits the blocks, in their order, so that the higher column is as low as
 * possible; within a block only if it fits on the page no other way.
 */
function balanced(
  blocks: readonly (readonly Box[])[],
  room: number,
): (readonly Box[])[] {
  const between = blocks.map((_, index) => [
    blocks.slice(0, index + 1).flat(),
    blocks.slice(index + 1).flat(),
  ]);
  const best = lowest(between);
  return heightOfColumns(best) <= room
    ? best
    : lowest([best, ...blocks.flatMap((_, index) => within(blocks, index))]);
}

/** All ways to go on with a block in the second column, under its title. */
function within(
  blocks: readonly (readonly Box[])[],
  index: number,
): (readonly Box[])[][] {
  const [title, ...items] = blocks[index] ?? [];
  if (title === undefined) return [];
  const before = blocks.slice(0, index).flat();
  const after = blocks.slice(index + 1).flat();
  return items.slice(1).map((_, at) => [
    [...before, title, ...items.slice(0, at + 1)],
    [continued(title), ...items.slice(at + 1), ...after],
  ]);
}

/** Not a second heading. */
const continued = (title: Box): Box => ({
  ...title,
  tag: 'P',
  lines: title.lines.map((line) => ({
    ...line,
    text: `${line.text} (continued)`,
  })),
});

const heightOfColumns = (columns: readonly (readonly Box[])[]): number =>
  Math.max(...columns.map(sum));

const lowest = (all: readonly (readonly Box[])[][]): (readonly Box[])[] =>
  all.reduce(
    (best, each) =>
      heightOfColumns(each) < heightOfColumns(best) ? each : best,
    all[0] ?? [],
  );

function boxesOf(
  { title, items, notes, rest }: OverviewBlock,
  pages: PdfPages,
  width: number,
  styles: Styles,
): Box[] {
  const { line } = styles;
  const paragraph = (text: string, style: TextStyle): Box => ({
    tag: 'P',
    line,
    lines: pages
      .lines(text, width, style)
      .map((each) => ({ text: each, style })),
    above: 0.3,
  });
  return [
    {
      tag: 'H3',
      line,
      lines: [{ text: title, style: styles.title }],
      above: 5,
    },
    ...items.map((item) => itemBox(item, pages, width, styles)),
    ...notes.map(({ text, tone }) => paragraph(text, noteStyle(tone, styles))),
    ...(rest === undefined
      ? []
      : [{ ...paragraph(rest.text, styles.link), leadsTo: rest.section }]),
  ];
}

const noteStyle = (tone: SummaryNote['tone'], styles: Styles): TextStyle =>
  tone === undefined
    ? styles.plain
    : tone === 'alert'
      ? styles.alertName
      : styles.name;

function itemBox(
  { text, detail, tone }: OverviewItem,
  pages: PdfPages,
  width: number,
  { line, name, alertName, plain }: Styles,
): Box {
  const style = tone === 'alert' ? alertName : name;
  const isShort = pages.lines(`${text}    ${detail}`, width, name).length === 1;
  const lines = isShort
    ? [{ text, style, right: { text: detail, style: plain } }]
    : [
        ...pages
          .lines(text, width, style)
          .map((each) => ({ text: each, style })),
        ...(detail === ''
          ? []
          : pages
              .lines(detail, width, plain)
              .map((each) => ({ text: each, style: plain }))),
      ];
  return { tag: 'P', line, lines, above: 0.3 };
}

const COLUMNS = 3;
const CHART_GUTTER = 14;
const CHART_LINE = 9;
const CHART_TITLE: TextStyle = { font: 'Helvetica-Bold', size: 8 };
const DETAIL: TextStyle = { size: 7, color: SOFT };
const LABEL = 6.5;

/** Draws charts side by side; a row of them stays on one page. */
export function drawCharts(
  pages: PdfPages,
  section: Element,
  charts: readonly Chart[],
): void {
  const width = (pages.width - (COLUMNS - 1) * CHART_GUTTER) / COLUMNS;
  for (let from = 0; from < charts.length; from += COLUMNS) {
    const row = charts.slice(from, from + COLUMNS).map((chart, index) => ({
      chart,
      left: pages.left + index * (width + CHART_GUTTER),
      title: pages.lines(chart.title, width, CHART_TITLE),
      detail: pages.lines(chart.detail, width, DETAIL),
      height: (chart.drawing.height * width) / chart.drawing.width,
    }));
    const textLines = Math.max(
      ...row.map(({ title, detail }) => title.length + detail.length),
    );
    const height =
      textLines * CHART_LINE + Math.max(...row.map((each) => each.height)) + 12;
    if (pages.room < height) pages.newPage();
    const top = pages.y;
    for (const { chart, left, title, detail, height: drawn } of row) {
      const lines = [
        ...title.map((text) => [text, CHART_TITLE] as const),
        ...detail.map((text) => [text, DETAIL] as const),
      ];
      pages.tagged('P', section, () => {
        for (const [index, [text, style]] of lines.entries())
          pages.line(text, left, top + index * CHART_LINE, style);
      });
      const at = {
        x: left,
        y: top + textLines * CHART_LINE + 2,
        scale: drawn / chart.drawing.height,
      };
      const draw = () => {
        for (const shape of chart.drawing.shapes) drawShape(pages, shape, at);
      };
      pages.tagged('Figure', section, draw, {
        alt: `${chart.title}. ${chart.description}`,
      });
    }
    pages.y = top + height;
  }
}
interface At {
  x: number;
  y: number;
  scale: number;
}

function drawShape(pages: PdfPages, shape: Shape, { x, y, scale }: At): void {
  const place = ([left, top]: readonly [number, number]) =>
    [x + left * scale, y + top * scale] as const;
  switch (shape.kind) {
    case 'band': {
      const [left, top] = place([shape.x, shape.y]);
      pages.box(left, top, shape.width * scale, shape.height * scale, BAND);
      break;
    }
    case 'grid':
      pages.polyline(shape.points.map(place), RULE);
      break;
    case 'line':
      pages.polyline(shape.points.map(place), ACCENT);
      break;
    case 'second':
      pages.polyline(shape.points.map(place), SOFT, true);
      break;
    case 'dot':
    case 'ring':
    case 'diamond':
      pages.mark(
        shape.kind,
        ...place(shape.at),
        shape.kind === 'diamond' ? ALERT : shape.kind === 'dot' ? ACCENT : SOFT,
      );
      break;
    case 'label': {
      const [left, baseline] = place(shape.at);
      const style = { size: LABEL, color: SOFT };
      pages.line(
        shape.text,
        left,
        baseline - LABEL * 0.75,
        shape.align === 'end' ? { ...style, rightEdge: left } : style,
      );
      break;
    }
  }
}
