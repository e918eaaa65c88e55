import { escapeHtml } from '../../../lib/escape-html.ts';
import type { OverviewBlock, OverviewItem, SummaryNote } from './parts.ts';

/** The overview as a section of blocks, which the style shows side by side where there is room. */
export function overviewHtml(blocks: readonly OverviewBlock[]): string {
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

export const noteHtml = ({ text, tone }: SummaryNote): string =>
  `<p${tone === undefined ? '' : ` class="${tone}"`}>${escapeHtml(text)}</p>\n`;
