import { escapeHtml } from '../../../lib/escape-html.ts';
import type { Chart, Shape } from './charts/drawing.ts';

/** @param id begins the ids of the charts */
export const chartsHtml = (charts: readonly Chart[], id: string): string =>
  `<div class="charts">
${charts.map((chart, index) => chartHtml(chart, `${escapeHtml(id)}-chart-${index + 1}`)).join('\n')}
</div>
`;

function chartHtml({ title, detail, description, drawing }: Chart, id: string): string {
  const { width, height, shapes } = drawing;
  return `<figure><figcaption><b dir="auto">${escapeHtml(title)}</b> <span class="detail" dir="auto">${escapeHtml(detail)}</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id} ${id}-text"><title id="${id}">${escapeHtml(title)}</title><desc id="${id}-text">${escapeHtml(description)}</desc>${shapes.map(shapeSvg).join('')}</svg></figure>`;
}

function shapeSvg(shape: Shape): string {
  switch (shape.kind) {
    case 'band':
      return `<rect class="band" x="${shape.x}" y="${shape.y}" width="${shape.width}" height="${shape.height}"/>`;
    case 'grid':
    case 'line':
    case 'second':
      return `<polyline class="${shape.kind}" points="${shape.points.map(([x, y]) => `${x},${y}`).join(' ')}"/>`;
    case 'dot':
    case 'ring': {
      const [x, y] = shape.at;
      return `<circle class="${shape.kind}" cx="${x}" cy="${y}" r="2.2"><title>${escapeHtml(shape.text)}</title></circle>`;
    }
    case 'diamond': {
      const [x, y] = shape.at;
      return `<path class="diamond" d="M${x} ${y}m0-4l4 4-4 4-4-4z"><title>${escapeHtml(shape.text)}</title></path>`;
    }
    case 'label':
      return `<text x="${shape.at[0]}" y="${shape.at[1]}"${shape.align === 'end' ? ' text-anchor="end"' : ''}>${escapeHtml(shape.text)}</text>`;
  }
}
