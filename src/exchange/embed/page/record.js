import { contentOf, el, show } from './dom.js';
import { linesOf } from './lines.js';
import { drawSome } from './more.js';
import { counted } from './words.js';

const ROWS = { first: 20, next: 200 };
/** In characters: a day, a state. It stays in one line, whatever stands beside it. */
const SHORT = 12;
/** Open from the start where there is room: what is asked for first. */
const OPEN = ['problems', 'medications', 'allergies'];
/** What it says matters, rows or not. */
const KEPT = ['allergies', 'rest'];

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
        section.dataset.part = part.id;
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

/** The sections that say something; the others are named in one line, and so are notes on the whole. @param {HTMLElement[]} made */
function inOrder(made) {
  const parts = made.filter((each) => each.matches('details'));
  const notes = made.filter((each) => !each.matches('details'));
  const idOf = (/** @type {HTMLElement} */ part) => part.dataset.part ?? '';
  const isEmpty = (/** @type {HTMLElement} */ part) => part.dataset.rows === undefined;
  const shown = parts.filter((part) => !isEmpty(part) || KEPT.includes(idOf(part)));
  const missing = parts.filter((part) => !shown.includes(part));
  const isWide = matchMedia('(min-width: 62rem)').matches;
  for (const [index, part] of shown.entries()) {
    const isWanted = isWide ? OPEN.includes(idOf(part)) : isEmpty(part) && idOf(part) === 'allergies';
    if (isWanted || index === 0) part.setAttribute('open', '');
  }
  const names = missing.map((part) => part.querySelector('h3')?.textContent ?? '').join(', ');
  const nothing = el('p.quiet.small', {}, `The sources have delivered nothing under: ${names}.`);
  return [...shown, ...(missing.length > 0 ? [nothing] : []), ...notes];
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
          el(
            'th',
            { scope: 'rowgroup', role: 'rowheader', colspan: columns.length },
            el('bdi', {}, each.group),
          ),
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
      const more = drawSome(body, rows, draw, { ...ROWS, what: caption });
      if (more) element.append(more);
    },
  };
}

/** @param {Cell} cell @param {Column | undefined} column @param {boolean} isFirst */
function cellOf({ text, tone }, column, isFirst) {
  const classes = [
    column?.isNumeric && 'number',
    tone === 'alert' && 'alert',
    tone === 'muted' && 'quiet',
    text.length <= SHORT && 'short',
  ].filter(Boolean);
  const tag = [isFirst ? 'th' : 'td', ...classes].join('.');
  const role = isFirst ? { scope: 'row', role: 'rowheader' } : { role: 'cell' };
  return el(tag, { ...role, 'data-label': column?.title ?? '' }, el('bdi', {}, text));
}
