import {
  type Column,
  fittedTables,
  type OverviewBlock,
  type OverviewItem,
  type SummaryCell,
  type SummaryPart,
} from '#record-summary';
import { escapeHtml } from '../../../../lib/escape.ts';

/**
 * Parts of a summary as the XHTML of a FHIR Narrative: only elements and
 * attributes that FHIR allows, all text escaped, no style. What is abnormal is
 * set in bold.
 */
export async function narrativeOf(
  parts: AsyncIterable<SummaryPart>,
): Promise<{ status: 'additional'; div: string }> {
  let html = '';
  let width = 0;
  for await (const part of fittedTables(parts)) {
    if (part.kind === 'table') width = part.columns.length;
    html += partHtml(part, width);
  }
  return {
    status: 'additional',
    div: `<div xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">${html}</div>`,
  };
}

function partHtml(part: SummaryPart, width: number): string {
  switch (part.kind) {
    case 'note':
      return noteHtml(part);
    case 'overview':
      return part.blocks.map(blockHtml).join('');
    case 'table':
      return `<table><caption>${escapeHtml(part.caption)}</caption><thead><tr>${part.columns.map(headOf).join('')}</tr></thead><tbody>`;
    case 'group':
      return `<tr><th colspan="${width}">${escapeHtml(part.title)}</th></tr>`;
    case 'row':
      return `<tr>${part.cells.map(cellOf).join('')}</tr>`;
    case 'tableEnd':
      return '</tbody></table>';
    default:
      return '';
  }
}

const blockHtml = ({ title, items, notes, rest }: OverviewBlock): string =>
  [
    `<h3>${escapeHtml(title)}</h3>`,
    items.length > 0 && `<ul>${items.map(itemHtml).join('')}</ul>`,
    ...notes.map(noteHtml),
    rest && noteHtml(rest),
  ]
    .filter(Boolean)
    .join('');

const itemHtml = ({ text, detail, tone }: OverviewItem): string => {
  const said = tone === 'alert' ? bold(text) : escapeHtml(text);
  return `<li>${detail === '' ? said : `${said}; ${escapeHtml(detail)}`}</li>`;
};

const noteHtml = ({ text, tone }: { text: string; tone?: string }): string =>
  `<p>${tone === 'alert' ? bold(text) : escapeHtml(text)}</p>`;

const bold = (text: string): string => `<b>${escapeHtml(text)}</b>`;
const headOf = ({ title }: Column): string => `<th>${escapeHtml(title)}</th>`;
const cellOf = ({ text, tone }: SummaryCell): string =>
  `<td>${tone === 'alert' ? bold(text) : escapeHtml(text)}</td>`;
