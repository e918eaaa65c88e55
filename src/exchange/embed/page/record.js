import { contentOf, el, show } from './dom.js';
import { linesOf } from './lines.js';
import { counted } from './words.js';

/** Rows of a table that are drawn at once; the others on demand. */
const ROWS_AT_ONCE = 25;

/**
 * Draws the summary of the record from the parts that the gateway sends, section by section.
 * @param {Response} answer @returns {Promise<boolean>} whether there was anything
 */
export async function showRecord(answer) {
  /** @type {HTMLElement[]} */
  const made = [];
  /** @type {HTMLElement | undefined} */
  let section;
  /** @type {ReturnType<typeof table> | undefined} */
  let open;
  let resources = 0;
  for await (const line of linesOf(answer)) {
    if (line === '') continue;
    const part = JSON.parse(line);
    switch (part.kind) {
      case 'total':
        resources = part.resources;
        break;
      case 'head':
        made.push(...part.head.notes.map((/** @type {string} */ note) => el('p.quiet.small', {}, note)));
        break;
      case 'section':
        section = el('details.part', {}, el('summary', {}, el('h3', {}, part.title)));
        // What it says is about the whole record, rows or not.
        if (part.id === 'rest') section.dataset.keep = '';
        made.push(section);
        break;
      case 'note':
        section?.append(el('p.quiet', {}, part.text));
        break;
      case 'table':
        open = table(part);
        section?.append(open.element);
        break;
      case 'group':
        open?.add({ group: part.title });
        break;
      case 'row':
        open?.add({ cells: part.cells });
        break;
      case 'tableEnd':
        open?.finish();
        markCount(section, part.rows);
        break;
    }
  }
  const content = contentOf('record');
  if (resources === 0) show(content, el('p.quiet', {}, 'Nothing has been collected of this patient yet.'));
  else show(content, ...inOrder(made));
  return resources > 0;
}

/** Sections with something in them first opened; those without are named in one line. @param {HTMLElement[]} made */
function inOrder(made) {
  const isEmpty = (/** @type {HTMLElement} */ each) =>
    each.matches('details') && each.dataset.rows === undefined && each.dataset.keep === undefined;
  const empty = made.filter(isEmpty).map((each) => each.querySelector('h3')?.textContent ?? '');
  const full = made.filter((each) => !isEmpty(each));
  const notes = full.filter((each) => !each.matches('details'));
  const parts = full.filter((each) => each.matches('details'));
  parts[0]?.setAttribute('open', '');
  const nothing = empty.length > 0 && el('p.quiet.small', {}, `Nothing recorded under: ${empty.join(', ')}.`);
  return [...parts, ...(nothing ? [nothing] : []), ...notes];
}

/** @param {HTMLElement | undefined} section @param {number} rows */
function markCount(section, rows) {
  if (section === undefined) return;
  const total = Number(section.dataset.rows ?? 0) + rows;
  section.dataset.rows = String(total);
  const summary = section.querySelector('summary');
  const count = summary?.querySelector('.count') ?? el('span.count');
  count.textContent = total.toLocaleString('en-US');
  count.setAttribute('aria-label', counted(total, 'entry', 'entries'));
  summary?.append(count);
}

/** @typedef {{text: string, tone?: string}} Cell */
/** @typedef {{title: string, isNumeric?: boolean}} Column */

/**
 * Roles are said outright: on a narrow screen the style makes cards of the rows, and then browsers forget that it is a table.
 * @param {{caption: string, columns: Column[]}} part
 */
function table({ caption, columns }) {
  /** @type {({group: string} | {cells: Cell[]})[]} */
  const rows = [];
  const body = el('tbody', { role: 'rowgroup' });
  const heads = columns.map(({ title, isNumeric }) =>
    el(isNumeric ? 'th.number' : 'th', { scope: 'col', role: 'columnheader' }, title),
  );
  const element = el(
    'div.table',
    {},
    el(
      'table',
      { role: 'table' },
      el('caption', {}, caption),
      el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
      body,
    ),
  );
  /** @param {{group: string} | {cells: Cell[]}} each */
  const draw = (each) =>
    'group' in each
      ? el(
          'tr.group',
          { role: 'row' },
          el('th', { scope: 'rowgroup', role: 'rowheader', colspan: columns.length }, each.group),
        )
      : el(
          'tr',
          { role: 'row' },
          ...each.cells.map((cell, index) => cellOf(cell, columns[index], index === 0)),
        );
  return {
    element,
    /** @param {{group: string} | {cells: Cell[]}} each */
    add: (each) => rows.push(each),
    finish() {
      body.append(...rows.slice(0, ROWS_AT_ONCE).map(draw));
      const rest = rows.slice(ROWS_AT_ONCE);
      if (rest.length === 0) return;
      const more = el(
        'button.more',
        {
          type: 'button',
          onclick: () => {
            const added = rest.map(draw);
            body.append(...added);
            more.remove();
            added[0]?.setAttribute('tabindex', '-1');
            added[0]?.focus();
          },
        },
        `Show ${rest.length.toLocaleString('en-US')} more`,
      );
      element.append(more);
    },
  };
}

/** @param {Cell} cell @param {Column | undefined} column @param {boolean} isFirst */
function cellOf({ text, tone }, column, isFirst) {
  const classes = [
    column?.isNumeric && 'number',
    tone === 'alert' && 'alert',
    tone === 'muted' && 'quiet',
  ].filter(Boolean);
  const tag = [isFirst ? 'th' : 'td', ...classes].join('.');
  const role = isFirst ? { scope: 'row', role: 'rowheader' } : { role: 'cell' };
  return el(tag, { ...role, dir: 'auto', 'data-label': column?.title ?? '' }, text);
}
