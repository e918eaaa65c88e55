import { chartsOf } from './charts.js';
import { contentOf, el, show } from './dom.js';
import { linesOf } from './lines.js';
import { overviewOf, sectionId } from './overview.js';
import { showLife } from './person.js';
import { createTable } from './table.js';
import { counted } from './words.js';

/** Sections that are expanded initially on wide screens: those that readers need first. */
const OPEN = ['problems', 'medications', 'allergies'];
/** Sections that are shown even without rows. */
const KEPT = ['allergies', 'rest'];

/**
 * Shows the summary of the record from the parts that the gateway streams.
 * @param {Response} answer @returns {Promise<boolean>} whether the record has any resources
 */
export async function showRecord(answer) {
  const content = contentOf('record');
  /** @type {HTMLElement[]} */
  const made = [];
  /** @type {HTMLElement | undefined} */
  let section;
  /** @type {ReturnType<typeof createTable> | undefined} */
  let open;
  let resources = 0;
  /** @type {HTMLElement | undefined} */
  let incomplete;
  /** @type {HTMLElement | undefined} */
  let overview;
  for await (const line of linesOf(answer)) {
    if (line === '') continue;
    const part = JSON.parse(line);
    switch (part.kind) {
      case 'total':
        resources = part.resources;
        break;
      case 'head':
        showLife(part.head.patient);
        if (part.head.alert !== undefined)
          incomplete = el('p.alert', {}, part.head.alert);
        made.push(
          ...part.head.notes.map((/** @type {string} */ note) =>
            el('p.quiet.small', {}, note),
          ),
        );
        break;
      case 'overview':
        overview = overviewOf(part.blocks);
        // Above what says that the record is loading: the rest of a large one takes seconds.
        content.prepend(
          ...[incomplete, overview].filter((each) => each !== undefined),
        );
        break;
      case 'section':
        section = el(
          'details.part',
          { id: sectionId(part.id) },
          el('summary', {}, el('h3', {}, part.title)),
        );
        section.dataset.part = part.id;
        made.push(section);
        break;
      case 'note':
        section?.append(
          el(
            part.tone === undefined ? 'p.quiet' : `p.${part.tone}`,
            {},
            part.text,
          ),
        );
        if (part.tone !== undefined && section !== undefined)
          section.dataset.stated = 'true';
        break;
      case 'charts':
        section?.append(chartsOf(part.charts, section.id));
        break;
      case 'table':
        open = createTable(part);
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
  if (resources === 0)
    show(
      content,
      el('p.quiet', {}, 'No data has been collected for this patient yet.'),
    );
  else
    show(
      content,
      ...[incomplete, overview].filter((each) => each !== undefined),
      ...inOrder(made),
    );
  return resources > 0;
}

/** Sections with content, then one line that names the empty ones, then general notes. @param {HTMLElement[]} made */
function inOrder(made) {
  const parts = made.filter((each) => each.matches('details'));
  const notes = made.filter((each) => !each.matches('details'));
  const idOf = (/** @type {HTMLElement} */ part) => part.dataset.part ?? '';
  const isEmpty = (/** @type {HTMLElement} */ part) =>
    part.dataset.rows === undefined && part.dataset.stated === undefined;
  const shown = parts.filter(
    (part) => !isEmpty(part) || KEPT.includes(idOf(part)),
  );
  const missing = parts.filter((part) => !shown.includes(part));
  const isWide = matchMedia('(min-width: 62rem)').matches;
  for (const [index, part] of shown.entries()) {
    const isWanted = isWide
      ? OPEN.includes(idOf(part))
      : isEmpty(part) && idOf(part) === 'allergies';
    if (isWanted || index === 0) part.setAttribute('open', '');
  }
  const names = missing
    .map((part) => part.querySelector('h3')?.textContent ?? '')
    .join(', ');
  const nothing = el(
    'p.quiet.small',
    {},
    `The sources have delivered no data for: ${names}.`,
  );
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
