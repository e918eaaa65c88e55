import { escapeHtml } from '../../../lib/escape.ts';
import type {
  Chart,
  Column,
  OverviewBlock,
  OverviewItem,
  Shape,
  SummaryCell,
  SummaryHead,
  SummaryNote,
  SummaryPart,
} from './parts.ts';

/**
 * Renders a summary as one HTML page, piece by piece: no scripts, no external resources, all text escaped. Headings,
 * captions and scopes for screen readers; repeated table heads and page numbers in print.
 */
export async function* renderHtml(parts: AsyncIterable<SummaryPart>): AsyncGenerator<string> {
  let columns: readonly Column[] = [];
  let section = '';
  for await (const part of parts) {
    switch (part.kind) {
      case 'head':
        yield headHtml(part.head);
        break;
      case 'overview':
        yield overviewHtml(part.blocks);
        break;
      case 'section':
        yield `${section === '' ? '' : '</section>\n'}<section aria-labelledby="${escapeHtml(part.id)}">\n<h2 id="${escapeHtml(part.id)}">${escapeHtml(part.title)}</h2>\n`;
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
        yield `</tbody>\n<tbody>\n<tr><th scope="rowgroup" colspan="${columns.length}">${escapeHtml(part.title)}</th></tr>\n`;
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

function headHtml({ title, patient, facts, alert, notes, sections }: SummaryHead): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(`${title}: ${patient.name}`)}</title>
<style>${HTML_STYLE}
</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<p class="kind">${escapeHtml(title)}</p>
<h1 dir="auto">${escapeHtml(patient.name)}</h1>
<dl>
${facts.map(([label, value]) => `<div><dt>${escapeHtml(label)}</dt><dd dir="auto">${escapeHtml(value)}</dd></div>`).join('\n')}
</dl>
${alert === undefined ? '' : `<p class="alert incomplete">${escapeHtml(alert)}</p>\n`}<nav aria-label="Contents"><ul>
${sections.map(({ id, title: name }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(name)}</a></li>`).join('\n')}
</ul></nav>
<div class="notes">
${notes.map((note) => `<p>${escapeHtml(note)}</p>`).join('\n')}
</div>
</header>
<main id="content">
`;
}

function tableHtml(caption: string, columns: readonly Column[]): string {
  const total = columns.reduce((sum, { width = 1 }) => sum + width, 0);
  const share = ({ width = 1 }: Column) => `${((width * 100) / total).toFixed(1)}%`;
  const heads = columns.map(
    (column) =>
      `<th scope="col"${column.isNumeric ? ' class="number"' : ''}>${escapeHtml(column.title)}</th>`,
  );
  // Focusable and labelled, so that it can be scrolled by keyboard and is announced by screen readers.
  return `<div class="scroll" role="group" aria-label="${escapeHtml(caption)}" tabindex="0"><table>
<caption>${escapeHtml(caption)}</caption>
<colgroup>${columns.map((column) => `<col style="width:${share(column)}">`).join('')}</colgroup>
<thead><tr>${heads.join('')}</tr></thead>
<tbody>
`;
}

/** Texts of at most this many characters (a day, a status) are not wrapped. */
const SHORT = 12;
/** Words this long may be broken anywhere, so that they do not make the table wider than the page. */
const LONG_WORD = /\S{25}/;

function cellHtml({ text, tone }: SummaryCell, column: Column | undefined, isFirst: boolean): string {
  const classes = [
    ...(column?.isNumeric ? ['number'] : []),
    ...(tone === undefined ? [] : [tone]),
    ...(text.length > 1 && text.length <= SHORT ? ['short'] : []),
    ...(LONG_WORD.test(text) ? ['long'] : []),
  ];
  const attributes = classes.length === 0 ? '' : ` class="${classes.join(' ')}"`;
  return isFirst
    ? `<th scope="row"${attributes}>${escapeHtml(text)}</th>`
    : `<td${attributes}>${escapeHtml(text)}</td>`;
}

/** The overview as a section of blocks, which the style shows side by side where there is room. */
function overviewHtml(blocks: readonly OverviewBlock[]): string {
  return `<section class="overview" aria-labelledby="overview">
<h2 id="overview">Overview</h2>
<div class="blocks">
${blocks.map(blockHtml).join('\n')}
</div>
</section>
`;
}

const blockHtml = ({ title, items, notes, rest }: OverviewBlock): string =>
  `<div class="block"><h3>${escapeHtml(title)}</h3>
${items.length === 0 ? '' : `<ul>${items.map(itemHtml).join('\n')}</ul>\n`}${notes.map(noteHtml).join('')}${
  rest === undefined
    ? ''
    : `<p class="rest"><a href="#${escapeHtml(rest.section)}">${escapeHtml(rest.text)}</a></p>`
}</div>`;

const itemHtml = ({ text, detail, tone }: OverviewItem): string =>
  `<li><span dir="auto" class="${tone === 'alert' ? 'alert' : 'what'}">${escapeHtml(text)}</span> <span dir="auto" class="detail">${escapeHtml(detail)}</span></li>`;

const noteHtml = ({ text, tone }: SummaryNote): string =>
  `<p${tone === undefined ? '' : ` class="${tone}"`}>${escapeHtml(text)}</p>\n`;

/** @param id begins the ids of the charts */
const chartsHtml = (charts: readonly Chart[], id: string): string =>
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

/** Contrast is at least 7:1 throughout; no information is given by colour alone. */
export const HTML_STYLE = `
:root { --ink: #16202a; --soft: #45525f; --line: #cdd5dd; --band: #eef2f6; --alert: #9b1c1c; --accent: #0b4a78; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink); background: #fff;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 1rem; }
.kind { margin: 0; color: var(--soft); }
h1 { margin: 0 0 .6rem; font-size: 1.9rem; line-height: 1.15; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.3rem; color: var(--accent); border-bottom: 1px solid var(--line); }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.notes { color: var(--soft); font-size: .87rem; max-width: 60rem; }
.notes p { margin: .3rem 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .35rem .5rem; list-style: none; margin: .8rem 0 0; padding: 0; }
nav a { display: block; padding: .2rem .6rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--accent);
  text-decoration: none; }
nav a:hover, nav a:focus { background: var(--band); text-decoration: underline; }
.blocks { columns: 2 24rem; column-gap: 2rem; }
.block { break-inside: avoid; margin-bottom: 1.1rem; }
.block h3 { margin: 0 0 .2rem; font-size: 1rem; }
.block ul { list-style: none; margin: 0; padding: 0; }
.block li { padding: .15rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.block p { margin: .3rem 0; color: var(--soft); font-size: .87rem; }
.block p.stated { color: var(--ink); }
.block p.alert { color: var(--alert); }
.what { font-weight: 600; }
.detail { color: var(--soft); font-size: .87rem; }
.rest a { color: var(--accent); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem 1.5rem; margin-bottom: 1rem; }
figure { margin: 0; break-inside: avoid; display: flex; flex-direction: column; justify-content: space-between; }
figcaption { font-size: .9rem; overflow-wrap: anywhere; }
figcaption .detail { display: block; font-size: .82rem; }
svg { width: 100%; height: auto; }
svg .band { fill: #dcebdf; }
svg polyline { fill: none; stroke: var(--line); stroke-width: .6; }
svg .line { stroke: var(--accent); stroke-width: 1.3; }
svg .second { stroke: var(--soft); stroke-width: 1.3; stroke-dasharray: 3 2; }
svg .dot { fill: var(--accent); }
svg .ring { fill: #fff; stroke: var(--soft); }
svg .diamond { fill: var(--alert); }
svg text { fill: var(--soft); font-size: 9px; }
.scroll { overflow-x: auto; margin-bottom: 1.2rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
.count { color: var(--soft); font-weight: 400; }
th, td { text-align: left; vertical-align: top; padding: .28rem .5rem; border-bottom: 1px solid var(--line); }
.short { white-space: nowrap; }
.long { overflow-wrap: anywhere; }
thead th { background: var(--band); border-bottom: 2px solid var(--line); }
tbody th { font-weight: 500; }
tbody th[scope="rowgroup"] { padding-top: .7rem; font-weight: 600; color: var(--accent); background: #f8fafc; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.alert { color: var(--alert); font-weight: 700; }
.incomplete { margin: .9rem 0 0; padding: .5rem .8rem; border: 2px solid var(--alert); border-radius: .4rem; }
.stated { font-weight: 600; }
.muted { color: var(--soft); }
footer { margin-top: 2rem; color: var(--soft); font-size: .85rem; border-top: 1px solid var(--line); }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  h1 { font-size: 1.5rem; }
  nav ul { flex-wrap: nowrap; overflow-x: auto; padding-bottom: .4rem; }
  nav a { white-space: nowrap; }
  table { min-width: 42rem; }
}
@page { size: letter; margin: 15mm 12mm 16mm; @bottom-right { content: counter(page) " / " counter(pages); } }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav, .skip { display: none; }
  h2, h3 { break-after: avoid; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  thead th, tbody th[scope="rowgroup"] { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}`;
