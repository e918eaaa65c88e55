import sanitizeHtml from 'sanitize-html';
import type { Block, Cell, ReadableDocument, Run, Section } from './readable-document.ts';

/**
 * One page that needs nothing else: no script, no image, no address but those within it. It is made of text only and
 * escaped as it is made; that the result has none but these elements is checked once more by sanitize-html.
 */
export function* ccdaHtml(document: ReadableDocument): Generator<string> {
  const { title, facts, sections } = document;
  yield `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>${escaped(title)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n`;
  yield clean(
    `<header><h1>${escaped(title)}</h1><dl>${facts
      .map(({ label, value }) => `<div><dt>${escaped(label)}</dt><dd>${escaped(value)}</dd></div>`)
      .join('')}</dl></header>\n`,
  );
  if (sections.length > 1) yield clean(contents(sections));
  yield '<main>\n';
  for (const [index, section] of sections.entries())
    yield clean(sectionHtml(section, `section-${index + 1}`, 2));
  yield '</main>\n</body>\n</html>\n';
}

const contents = (sections: readonly Section[]): string =>
  `<nav aria-label="Sections"><ul>${sections
    .map(({ title }, index) => `<li><a href="#section-${index + 1}">${escaped(title)}</a></li>`)
    .join('')}</ul></nav>\n`;

function sectionHtml({ title, blocks, sections }: Section, id: string, level: number): string {
  const heading = `h${Math.min(level, 6)}`;
  const inner = [
    ...blocks.map((block) => blockHtml(block, title)),
    ...sections.map((section, index) => sectionHtml(section, `${id}-${index + 1}`, level + 1)),
  ];
  const body =
    inner.length === 0 ? '<p class="empty">Nothing is written in this section.</p>' : inner.join('\n');
  return `<section id="${id}"><${heading}>${escaped(title)}</${heading}>\n${body}</section>\n`;
}

function blockHtml(block: Block, label: string): string {
  switch (block.kind) {
    case 'paragraph':
      return `<p>${runsHtml(block.runs)}</p>`;
    case 'list': {
      const tag = block.ordered ? 'ol' : 'ul';
      const items = block.items.map((item) => `<li>${itemHtml(item, label)}</li>`);
      return `<${tag}>${items.join('')}</${tag}>`;
    }
    case 'table': {
      const head = block.head.length === 0 ? '' : `<thead>${block.head.map(rowHtml).join('\n')}</thead>`;
      const table = `<table>${head}<tbody>${block.rows.map(rowHtml).join('\n')}</tbody></table>`;
      return `<div class="table" role="region" tabindex="0" aria-label="${escaped(label)}">${table}</div>`;
    }
  }
}

/** An item of one paragraph is that paragraph's text. */
function itemHtml(item: readonly Block[], label: string): string {
  const [only] = item;
  return item.length === 1 && only?.kind === 'paragraph'
    ? runsHtml(only.runs)
    : item.map((block) => blockHtml(block, label)).join('');
}

const rowHtml = (cells: readonly Cell[]): string =>
  `<tr>${cells
    .map(({ runs, isHeading, columns, rows }) => {
      const tag = isHeading ? 'th' : 'td';
      const spans = `${columns > 1 ? ` colspan="${columns}"` : ''}${rows > 1 ? ` rowspan="${rows}"` : ''}`;
      return `<${tag}${spans}>${runsHtml(runs)}</${tag}>`;
    })
    .join('')}</tr>`;

const TAGS = { bold: 'strong', italic: 'em', underline: 'u' } as const;

const runsHtml = (runs: readonly Run[]): string =>
  runs
    .map(({ text, style }) => {
      const html = escaped(text).replaceAll('\n', '<br>');
      return style === undefined ? html : `<${TAGS[style]}>${html}</${TAGS[style]}>`;
    })
    .join('');

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

const clean = (html: string): string =>
  sanitizeHtml(html, {
    allowedTags: (
      'header main nav section div h1 h2 h3 h4 h5 h6 p br strong em u ul ol li dl dt dd a ' +
      'table thead tbody tr th td'
    ).split(' '),
    allowedAttributes: {
      a: ['href'],
      section: ['id'],
      nav: ['aria-label'],
      div: ['class', 'role', 'tabindex', 'aria-label'],
      p: ['class'],
      td: ['colspan', 'rowspan'],
      th: ['colspan', 'rowspan'],
    },
    allowedSchemes: [],
    // Within the page only.
    exclusiveFilter: ({ tag, attribs }) => tag === 'a' && !/^#[\w-]+$/.test(attribs.href ?? ''),
  });

const STYLE = `
:root{color-scheme:light}
body{margin:0 auto;max-width:72rem;padding:1.5rem 2rem 4rem;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;color:#1b2733;background:#fff}
header{border-bottom:3px solid #1f5f8b;padding-bottom:1rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem;color:#123a56;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid #c9d6e0;color:#123a56}
h3,h4,h5,h6{font-size:1rem;margin:1.2rem 0 .4rem;color:#123a56}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.5rem 2rem;margin:0}
dt{font-size:.78rem;color:#56697a}
dd{margin:0;overflow-wrap:anywhere}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;list-style:none;margin:1rem 0 0;padding:0}
a{color:#1f5f8b}
p{margin:.4rem 0}
.empty{color:#56697a;font-style:italic}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem;margin:.5rem 0;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #dde6ed;overflow-wrap:break-word}
thead th{background:#eaf1f6;color:#123a56;border-bottom:2px solid #b9cbd8}
tbody tr:nth-child(even) td{background:#f7fafc}
@media print{@page{margin:16mm}body{max-width:none;padding:0;font-size:10pt}nav{display:none}.table{overflow:visible}thead{display:table-header-group}tr{break-inside:avoid}h2,h3,h4{break-after:avoid}}
`.trim();
