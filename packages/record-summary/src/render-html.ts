import { readFileSync } from 'node:fs';
import { htmlText } from './html-text.ts';
import type {
  Chart,
  Column,
  HeadFact,
  OverviewBlock,
  OverviewItem,
  Shape,
  SummaryCell,
  SummaryHead,
  SummaryNote,
  SummaryPart,
} from './parts.ts';

/**
 * Renders a summary as one HTML page, piece by piece: no scripts, no external
 * resources, all text escaped. Headings, captions and scopes for screen
 * readers; repeated table heads and page numbers in print.
 */
export async function* renderHtml(
  parts: AsyncIterable<SummaryPart>,
): AsyncGenerator<string> {
  let columns: readonly Column[] = [];
  let section = '';
  let notes: readonly string[] = [];
  for await (const part of parts) {
    switch (part.kind) {
      case 'head':
        ({ notes } = part.head);
        yield headHtml(part.head);
        break;
      case 'overview':
        yield overviewHtml(part.blocks, notes);
        break;
      case 'section':
        yield `${section === '' ? '' : '</section>\n'}<section aria-labelledby="${htmlText(part.id)}">\n<h2 id="${htmlText(part.id)}">${htmlText(part.title)}</h2>\n`;
        section = part.id;
        break;
      case 'note':
        yield noteHtml(part);
        break;
      case 'charts':
        yield chartsHtml(part.charts, section);
        break;
      case 'table':
        columns = part.columns;
        yield tableHtml(part.caption, columns);
        break;
      case 'group':
        yield `</tbody>\n<tbody>\n<tr><th scope="rowgroup" colspan="${columns.length}">${htmlText(part.title)}</th></tr>\n`;
        break;
      case 'row':
        yield `<tr>${part.cells.map((cell, index) => cellHtml(cell, columns[index], index === 0)).join('')}</tr>\n`;
        break;
      case 'tableEnd':
        yield `</tbody>\n</table></div>\n<p class="count">${part.rows} ${part.rows === 1 ? 'entry' : 'entries'}</p>\n`;
        break;
    }
  }
  yield `${section === '' ? '' : '</section>\n'}</main>\n<footer><p>End of the summary.</p></footer>\n</body>\n</html>\n`;
}

function headHtml({
  title,
  patient,
  facts,
  alert,
  sections,
}: SummaryHead): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${htmlText(`${title}: ${patient.name}`)}</title>
<style>${HTML_STYLE}
</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<p class="kind">${htmlText(title)}</p>
<h1 dir="auto">${htmlText(patient.name)}</h1>
<dl>
${facts.map(factHtml).join('\n')}
</dl>
${alert === undefined ? '' : `<p class="alert incomplete">${htmlText(alert)}</p>\n`}<nav aria-label="Contents"><ul>
${sections.map(({ id, title: name }) => `<li><a href="#${htmlText(id)}">${htmlText(name)}</a></li>`).join('\n')}
</ul></nav>
</header>
<main id="content">
`;
}

/** A fact in the head, as an item of a description list. */
export const factHtml = ({ label, value, tone }: HeadFact): string =>
  `<div><dt>${htmlText(label)}</dt><dd${tone === undefined ? '' : ` class="${tone}"`} dir="auto">${htmlText(value)}</dd></div>`;

function tableHtml(caption: string, columns: readonly Column[]): string {
  const total = columns.reduce((sum, { width = 1 }) => sum + width, 0);
  const share = ({ width = 1 }: Column) =>
    `${((width * 100) / total).toFixed(1)}%`;
  const heads = columns.map(
    (column) =>
      `<th scope="col"${column.isNumeric ? ' class="number"' : ''}>${htmlText(column.title)}</th>`,
  );
  // Focusable and labelled, so that it can be scrolled by keyboard and is
  // announced by screen readers.
  return `<div class="scroll" role="group" aria-label="${htmlText(caption)}" tabindex="0"><table>
<caption>${htmlText(caption)}</caption>
<colgroup>${columns.map((column) => `<col style="width:${share(column)}">`).join('')}</colgroup>
<thead><tr>${heads.join('')}</tr></thead>
<tbody>
`;
}

/** Texts of at most this many characters (a day, a status) are not wrapped. */
const SHORT = 12;
/**
 * Words this long may be broken anywhere, so that they do not make the table
 * wider than the page.
 */
const LONG_WORD = /\S{25}/;

function cellHtml(
  { text, tone }: SummaryCell,
  column: Column | undefined,
  isFirst: boolean,
): string {
  const classes = [
    ...(column?.isNumeric ? ['number'] : []),
    ...(tone === undefined ? [] : [tone]),
    ...(text.length > 1 && text.length <= SHORT ? ['short'] : []),
    ...(LONG_WORD.test(text) ? ['long'] : []),
  ];
  const attributes =
    classes.length === 0 ? '' : ` class="${classes.join(' ')}"`;
  return isFirst
    ? `<th scope="row"${attributes}>${htmlText(text)}</th>`
    : `<td${attributes}>${htmlText(text)}</td>`;
}

/**
 * The overview as a section of blocks, which the style shows side by side where
 * there is room, and how to read the summary.
 */
function overviewHtml(
  blocks: readonly OverviewBlock[],
  notes: readonly string[],
): string {
  return `<section class="overview" aria-labelledby="overview">
<h2 id="overview">Overview</h2>
<div class="blocks">
${blocks.map(blockHtml).join('\n')}
</div>
<div class="notes">
${notes.map((text) => noteHtml({ text })).join('')}</div>
</section>
`;
}

const blockHtml = ({ title, items, notes, rest }: OverviewBlock): string =>
  `<div class="block"><h3>${htmlText(title)}</h3>
${items.length === 0 ? '' : `<ul>${items.map(itemHtml).join('\n')}</ul>\n`}${notes.map(noteHtml).join('')}${rest ? `<p class="rest"><a href="#${htmlText(rest.section)}">${htmlText(rest.text)}</a></p>` : ''}</div>`;

const itemHtml = ({ text, detail, tone }: OverviewItem): string =>
  `<li><span dir="auto" class="${tone === 'alert' ? 'alert' : 'what'}">${htmlText(text)}</span> <span dir="auto" class="detail">${htmlText(detail)}</span></li>`;

const noteHtml = ({ text, tone }: SummaryNote): string =>
  `<p${tone === undefined ? '' : ` class="${tone}"`}>${htmlText(text)}</p>\n`;

/** @param id begins the ids of the charts */
const chartsHtml = (charts: readonly Chart[], id: string): string =>
  `<div class="charts">
${charts.map((chart, index) => chartHtml(chart, `${htmlText(id)}-chart-${index + 1}`)).join('\n')}
</div>
`;

function chartHtml(
  { title, detail, description, drawing }: Chart,
  id: string,
): string {
  const { width, height, shapes } = drawing;
  return `<figure><figcaption><b dir="auto">${htmlText(title)}</b> <span class="detail" dir="auto">${htmlText(detail)}</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id} ${id}-text"><title id="${id}">${htmlText(title)}</title><desc id="${id}-text">${htmlText(description)}</desc>${shapes.map(shapeSvg).join('')}</svg></figure>`;
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
      return `<circle class="${shape.kind}" cx="${x}" cy="${y}" r="2.2"><title>${htmlText(shape.text)}</title></circle>`;
    }
    case 'diamond': {
      const [x, y] = shape.at;
      return `<path class="diamond" d="M${x} ${y}m0-4l4 4-4 4-4-4z"><title>${htmlText(shape.text)}</title></path>`;
    }
    case 'label':
      return `<text x="${shape.at[0]}" y="${shape.at[1]}"${shape.align === 'end' ? ' text-anchor="end"' : ''}>${htmlText(shape.text)}</text>`;
  }
}

const styleOf = (file: string): string =>
  readFileSync(new URL(file, import.meta.url), 'utf8');

/** How charts look, on every page that draws them. */
export const CHART_STYLE: string = styleOf('charts/charts.css');

/**
 * Contrast is at least 7:1 throughout; no information is given by colour alone.
 */
export const HTML_STYLE: string = `${CHART_STYLE}${styleOf('summary.css')}`;
