import { announce, contentOf, el, setText, show } from './dom.js';
import { describeChanges, QUERY_WORDS, SOURCE_WORDS } from './query-words.js';
import { counted, sourceName, timeAfter, timeText } from './words.js';

/** @typedef {{source: string, status: string, attempt: number, resources: number, startedAt?: string, completedAt?: string, reason?: string}} Source */
/** @typedef {{requestId: string, status: string, startedAt: string, sources: Source[]}} Query */
/** @typedef {{element: HTMLElement, update: (query: Query) => void}} Card */

/**
 * The queries of the patient: the newest, and the others on demand. Each event redraws only what has changed, so that
 * scroll position and selection are kept; changes are announced to screen readers.
 * @param {{onNewData: () => void}} options called when a query has ended and delivered resources
 */
export function createQueries({ onNewData }) {
  /** @type {Map<string, Query>} */
  let known = new Map();
  let isFirst = true;
  /** @type {Map<string, Card>} */
  const cards = new Map();
  const newest = el('div');
  const olderTitle = el('summary');
  const olderList = el('div');
  const older = el('details.older', {}, olderTitle, olderList);
  const cut = el('p.quiet.small');

  return {
    /** @param {{queries: Query[], total: number}} data newest first */
    update({ queries, total }) {
      if (!isFirst) {
        const news = describeChanges(queries, known);
        if (news !== '') announce(news);
        if (
          queries.some((query) => hasNewData(query, known.get(query.requestId)))
        )
          onNewData();
      }
      known = new Map(queries.map((query) => [query.requestId, query]));
      isFirst = false;
      draw(queries, total);
    },
  };

  /** @param {Query[]} queries @param {number} total */
  function draw(queries, total) {
    const content = contentOf('queries');
    const [first, ...others] = queries;
    if (first === undefined)
      return show(
        content,
        el('p.quiet', {}, 'No source has been queried for this patient yet.'),
      );
    for (const id of cards.keys()) if (!known.has(id)) cards.delete(id);
    place(newest, [elementOf(first)]);
    place(olderList, others.map(elementOf));
    setText(olderTitle, counted(total - 1, 'earlier query', 'earlier queries'));
    setText(
      cut,
      total > queries.length
        ? `The latest ${queries.length} of ${total} are shown here.`
        : '',
    );
    olderList.after(cut);
    older.hidden = others.length === 0;
    if (older.parentElement !== content) show(content, newest, older);
  }

  /** @param {Query} query */
  function elementOf(query) {
    const card = cards.get(query.requestId) ?? createCard(query);
    cards.set(query.requestId, card);
    card.update(query);
    return card.element;
  }
}

/** Whether the query has ended since the last event and delivered resources. @param {Query} query @param {Query | undefined} before */
const hasNewData = (query, before) =>
  query.status !== 'running' &&
  (before === undefined || before.status === 'running') &&
  query.sources.some(({ resources }) => resources > 0);

/** Makes these elements the parent's children, without moving any that is already in place. @param {HTMLElement} parent @param {HTMLElement[]} elements */
function place(parent, elements) {
  for (const [index, element] of elements.entries())
    if (parent.children[index] !== element)
      parent.insertBefore(element, parent.children[index] ?? null);
  while (parent.children.length > elements.length)
    parent.lastElementChild?.remove();
}

/** @param {Query} first @returns {Card} */
function createCard({ startedAt }) {
  const state = el('span.state');
  const list = el('ul.sources');
  /** @type {Map<string, {element: HTMLElement, update: (source: Source, query: Query) => void}>} */
  const lines = new Map();
  const element = el(
    'article.query',
    { 'aria-label': `Query of ${timeText(startedAt)}` },
    el(
      'p.line',
      {},
      state,
      el(
        'time.quiet',
        { datetime: startedAt },
        `Started ${timeText(startedAt)}`,
      ),
    ),
    list,
  );
  return {
    element,
    update(query) {
      setState(state, query.status, QUERY_WORDS);
      place(
        list,
        query.sources.map((source) => {
          const line = lines.get(source.source) ?? createLine(source.source);
          lines.set(source.source, line);
          line.update(source, query);
          return line.element;
        }),
      );
    },
  };
}

/** @param {string} name */
function createLine(name) {
  const label = sourceName(name);
  const state = el('span.state');
  const remarks = el('span.quiet');
  const progress = el('progress', { 'aria-label': `${label}: being queried` });
  const reason = el('span.reason', { dir: 'auto' });
  return {
    element: el(
      'li',
      {},
      el('span.source', {}, label),
      state,
      remarks,
      progress,
      reason,
    ),
    /** @param {Source} source @param {Query} query */
    update(source, query) {
      setState(state, source.status, SOURCE_WORDS);
      setText(remarks, remarksOn(source, query));
      progress.hidden = source.status !== 'running';
      setText(
        reason,
        source.status === 'cancelled' ? '' : (source.reason ?? ''),
      );
    },
  };
}

/** @param {Source} source @param {Query} query */
function remarksOn(
  { status, attempt, resources, startedAt, completedAt },
  query,
) {
  const found =
    status === 'completed' || resources > 0
      ? counted(resources, 'entry', 'entries')
      : '';
  const since =
    status === 'running' &&
    startedAt &&
    `since ${timeAfter(startedAt, query.startedAt)}`;
  const at =
    status === 'completed' &&
    completedAt &&
    `at ${timeAfter(completedAt, query.startedAt)}`;
  const next =
    (status === 'waiting' && 'another attempt will follow automatically') ||
    (status === 'failed' && 'its data could not be collected');
  const remarks = [found, at, since, attempt > 1 && `attempt ${attempt}`, next]
    .filter(Boolean)
    .join(' · ');
  return remarks.replace(/^\w/, (first) => first.toUpperCase());
}

/** @param {HTMLElement} element @param {string} status @param {Record<string, string>} words */
function setState(element, status, words) {
  element.dataset.state = status;
  setText(element, words[status] ?? status);
}
