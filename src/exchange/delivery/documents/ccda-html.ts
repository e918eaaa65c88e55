import sanitizeHtml from 'sanitize-html';
import { escapeHtml } from '../../../lib/escape.ts';
import { HTML_STYLE } from '../../records/summary/render-html.ts';
import {
  type Block,
  type DocumentCell,
  type ReadableDocument,
  type Run,
  runsText,
  type Section,
} from './read-ccda.ts';

/**
 * Renders one self-contained HTML page: no scripts, no images, links only within the page. All content is plain text and
 * is escaped here; as a second safeguard, sanitize-html removes any element that is not in the list below.
 */
export function* ccdaHtml(document: ReadableDocument): Generator<string> {
  const { title, facts, sections } = document;
  yield `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>${escapeHtml(title)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n`;
  yield clean(
    `<header><h1>${escapeHtml(title)}</h1><dl>${facts
      .map(({ label, value }) => `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`)
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
    .map(({ title }, index) => `<li><a href="#section-${index + 1}">${escapeHtml(title)}</a></li>`)
    .join('')}</ul></nav>\n`;

function sectionHtml({ title, blocks, sections }: Section, id: string, level: number): string {
  const heading = `h${Math.min(level, 6)}`;
  const inner = [
    ...blocks.map((block) => blockHtml(block, title)),
    ...sections.map((section, index) => sectionHtml(section, `${id}-${index + 1}`, level + 1)),
  ];
  const body = inner.length === 0 ? '<p class="muted">This section is empty.</p>' : inner.join('\n');
  return `<section id="${id}"><${heading}>${escapeHtml(title)}</${heading}>\n${body}</section>\n`;
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
      return `<div class="scroll" role="region" tabindex="0" aria-label="${escapeHtml(label)}">${table}</div>`;
    }
  }
}

/** A list item with a single paragraph is rendered as its text, without a `p` element. */
function itemHtml(item: readonly Block[], label: string): string {
  const [only] = item;
  return item.length === 1 && only?.kind === 'paragraph'
    ? runsHtml(only.runs)
    : item.map((block) => blockHtml(block, label)).join('');
}

/** Dates and times, which must not be wrapped. */
const TIME = /^(?:[\d\s:.,/TZ+-]{1,30}|\d{1,2} [A-Z][a-z]{2} \d{4}, \d{2}:\d{2}(?: UTC\S{0,6})?)$/;

const rowHtml = (cells: readonly DocumentCell[]): string =>
  `<tr>${cells
    .map(({ runs, isHeading, columns, rows }) => {
      const tag = isHeading ? 'th' : 'td';
      const spans = `${columns > 1 ? ` colspan="${columns}"` : ''}${rows > 1 ? ` rowspan="${rows}"` : ''}`;
      const time = TIME.test(runsText(runs)) ? ' class="time"' : '';
      return `<${tag}${spans}${time}>${runsHtml(runs)}</${tag}>`;
    })
    .join('')}</tr>`;

const TAGS = { bold: 'strong', italic: 'em', underline: 'u' } as const;

const runsHtml = (runs: readonly Run[]): string =>
  runs
    .map(({ text, style }) => {
      const html = escapeHtml(text).replaceAll('\n', '<br>');
      return style === undefined ? html : `<${TAGS[style]}>${html}</${TAGS[style]}>`;
    })
    .join('');

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
      td: ['class', 'colspan', 'rowspan'],
      th: ['class', 'colspan', 'rowspan'],
    },
    allowedSchemes: [],
    // Links may only point within the page.
    exclusiveFilter: ({ tag, attribs }) => tag === 'a' && !/^#[\w-]+$/.test(attribs.href ?? ''),
  });

/** Extends the style of the medical record summary. */
const STYLE = `${HTML_STYLE}
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h3, h4, h5, h6 { margin: 1.2rem 0 .4rem; font-size: 1rem; color: var(--accent); }
dd { max-width: 32rem; font-weight: 500; }
p { margin: .4rem 0; }
th, td { overflow-wrap: break-word; }
tbody tr:nth-child(even) td { background: #f8fafc; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
@media print { h3, h4, h5, h6 { break-after: avoid; } }`;
