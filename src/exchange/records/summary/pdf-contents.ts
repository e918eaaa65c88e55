import type { SummaryHead } from './parts.ts';
import { ACCENT, type Element, type PdfPages, type TextStyle } from './pdf-document.ts';

const STYLE: TextStyle = { size: 8, color: ACCENT };
const LINE = 11;
const GAP = 12;

/** The table of contents: the titles of the sections beside each other, each a link. */
export function drawContents(pages: PdfPages, parent: Element, sections: SummaryHead['sections']): void {
  const contents = pages.element('TOC', parent);
  let x = pages.left;
  for (const { id, title } of sections) {
    const width = pages.widthOf(title, STYLE);
    if (x > pages.left && x + width > pages.left + pages.width) {
      x = pages.left;
      pages.y += LINE;
    }
    if (pages.room < LINE) pages.newPage();
    const entry = pages.element('TOCI', contents);
    pages.lineTo(id, title, x, pages.y, entry, STYLE);
    entry.end();
    x += width + GAP;
  }
  contents.end();
  pages.y += LINE + 2;
}
