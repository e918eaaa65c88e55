import { el, svg } from './dom.js';

/** @typedef {readonly [x: number, y: number]} Place */
/** @typedef {{kind: string, at?: Place, points?: Place[], text?: string, align?: string, x?: number, y?: number, width?: number, height?: number}} Shape */
/** @typedef {{title: string, detail: string, description: string, drawing: {width: number, height: number, shapes: Shape[]}}} Chart */

/** @param {Chart[]} charts @param {string} id begins the ids of the charts */
export const chartsOf = (charts, id) =>
  el(
    'div.charts',
    {},
    ...charts.map((chart, index) => figure(chart, `${id}-chart-${index + 1}`)),
  );

/** @param {Chart} chart @param {string} id */
function figure({ title, detail, description, drawing }, id) {
  const { width, height, shapes } = drawing;
  const names = { role: 'img', 'aria-labelledby': `${id} ${id}-text` };
  return el(
    'figure',
    {},
    el(
      'figcaption',
      {},
      el('b', {}, el('bdi', {}, title)),
      ' ',
      el('span.quiet', {}, el('bdi', {}, detail)),
    ),
    svg(
      'svg',
      { viewBox: `0 0 ${width} ${height}`, ...names },
      svg('title', { id }, title),
      svg('desc', { id: `${id}-text` }, description),
      ...shapes.map(shapeOf),
    ),
  );
}

/** @param {Shape} shape */
function shapeOf({
  kind,
  at = [0, 0],
  points = [],
  text = '',
  align,
  x = 0,
  y = 0,
  width = 0,
  height = 0,
}) {
  const [left, top] = at;
  switch (kind) {
    case 'band':
      return svg('rect', { class: kind, x, y, width, height });
    case 'dot':
    case 'ring':
      return svg(
        'circle',
        { class: kind, cx: left, cy: top, r: 2.2 },
        svg('title', {}, text),
      );
    case 'diamond':
      return svg(
        'path',
        { class: kind, d: `M${left} ${top}m0-4l4 4-4 4-4-4z` },
        svg('title', {}, text),
      );
    case 'label':
      return svg(
        'text',
        { x: left, y: top, 'text-anchor': align ?? 'start' },
        text,
      );
    default:
      return svg('polyline', {
        class: kind,
        points: points.map((point) => point.join()).join(' '),
      });
  }
}
