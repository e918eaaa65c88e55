import { el } from './dom.js';
import { drawSome } from './more.js';

/** @typedef {{text: string, tone?: string}} Cell */
/** @typedef {{title: string, isNumeric?: boolean}} Column */
/** @typedef {{group: string} | {cells: Cell[]}} Row */

const ROWS = { first: 20, next: 200 };
/** Shown by the summary where a source gives no value. */
const NOTHING = '–';
/** Texts of at most this many characters (a day, a status) are not wrapped. */
const SHORT = 12;
/** Words this long may be broken anywhere, so that they do not make the table wider than the page. */
const LONG_WORD = /\S{25}/;

/** Tables that need scrolling can be focused by keyboard; others are not tab stops. */
const wideTables = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth)
      target.setAttribute('tabindex', '0');
    else target.removeAttribute('tabindex');
  }
});

/**
 * A table that is drawn once all rows are known, without columns that have no values. ARIA roles are explicit: on narrow
 * screens the style shows rows as cards, and browsers then drop the table semantics.
 * @param {{caption: string, columns: Column[]}} part
 */
export function createTable({ caption, columns }) {
  /** @type {Row[]} */
  const rows = [];
  const element = el('div.table', { role: 'group', 'aria-label': caption });
  return {
    element,
    /** @param {Row} row */
    add: (row) => rows.push(row),
    finish() {
      const shown = columns.map(
        (_, index) => index === 0 || rows.some((row) => hasValue(row, index)),
      );
      const body = el('tbody', { role: 'rowgroup' });
      const more = drawSome(body, rows, (row) => rowOf(row, columns, shown), {
        ...ROWS,
        what: caption,
        counts: (row) => 'cells' in row,
      });
      const heads = columns
        .filter((_, index) => shown[index])
        .map(({ title, isNumeric }) =>
          el(
            isNumeric ? 'th.number' : 'th',
            { scope: 'col', role: 'columnheader' },
            title,
          ),
        );
      const head = el(
        'thead',
        { role: 'rowgroup' },
        el('tr', { role: 'row' }, ...heads),
      );
      element.append(
        el('table', { role: 'table' }, el('caption', {}, caption), head, body),
      );
      if (more) element.append(more);
      wideTables.observe(element);
    },
  };
}

/** @param {Row} row @param {number} index */
const hasValue = (row, index) =>
  'cells' in row && row.cells[index]?.text !== NOTHING;

/** @param {Row} row @param {Column[]} columns @param {boolean[]} shown */
function rowOf(row, columns, shown) {
  if ('group' in row) {
    const spans = {
      scope: 'rowgroup',
      role: 'rowheader',
      colspan: shown.filter(Boolean).length,
    };
    return el(
      'tr.group',
      { role: 'row' },
      el('th', spans, el('bdi', {}, row.group)),
    );
  }
  const cells = row.cells.map(
    (cell, index) => shown[index] && cellOf(cell, columns[index], index === 0),
  );
  return el('tr', { role: 'row' }, ...cells);
}

/** @param {Cell} cell @param {Column | undefined} column @param {boolean} isFirst */
function cellOf({ text, tone }, column, isFirst) {
  const classes = [
    column?.isNumeric && 'number',
    tone === 'alert' && 'alert',
    tone === 'muted' && 'quiet',
    text.length <= SHORT && 'short',
    LONG_WORD.test(text) && 'long',
  ].filter(Boolean);
  const tag = [isFirst ? 'th' : 'td', ...classes].join('.');
  const role = isFirst ? { scope: 'row', role: 'rowheader' } : { role: 'cell' };
  return el(
    tag,
    { ...role, 'data-label': column?.title ?? '' },
    el('bdi', {}, text),
  );
}
