import type { Chart, Drawing, Shape } from './charts/drawing.ts';
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

const COLUMNS = 3;
const GUTTER = 14;
const LINE = 9;
const TITLE: TextStyle = { font: 'Helvetica-Bold', size: 8 };
const DETAIL: TextStyle = { size: 7, color: SOFT };
const LABEL = 6.5;

/** Draws charts side by side; a row of them stays on one page. */
export function drawCharts(pages: PdfPages, section: Element, charts: readonly Chart[]): void {
  const width = (pages.width - (COLUMNS - 1) * GUTTER) / COLUMNS;
  for (let from = 0; from < charts.length; from += COLUMNS) {
    const row = charts.slice(from, from + COLUMNS).map((chart, index) => ({
      chart,
      left: pages.left + index * (width + GUTTER),
      title: pages.lines(chart.title, width, TITLE),
      detail: pages.lines(chart.detail, width, DETAIL),
      height: (chart.drawing.height * width) / chart.drawing.width,
    }));
    const textLines = Math.max(...row.map(({ title, detail }) => title.length + detail.length));
    const height = textLines * LINE + Math.max(...row.map((each) => each.height)) + 12;
    if (pages.room < height) pages.newPage();
    const top = pages.y;
    for (const { chart, left, title, detail, height: drawn } of row) {
      const lines = [
        ...title.map((text) => [text, TITLE] as const),
        ...detail.map((text) => [text, DETAIL] as const),
      ];
      pages.tagged('P', section, () => {
        for (const [index, [text, style]] of lines.entries())
          pages.line(text, left, top + index * LINE, style);
      });
      const at = { x: left, y: top + textLines * LINE + 2, scale: drawn / chart.drawing.height };
      pages.tagged('Figure', section, () => draw(pages, chart.drawing, at), {
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

function draw(pages: PdfPages, { shapes }: Drawing, at: At): void {
  for (const shape of shapes) drawShape(pages, shape, at);
}

function drawShape(pages: PdfPages, shape: Shape, { x, y, scale }: At): void {
  const place = ([left, top]: readonly [number, number]) => [x + left * scale, y + top * scale] as const;
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
