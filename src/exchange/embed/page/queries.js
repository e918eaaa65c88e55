import { announce, contentOf, el, show } from './dom.js';
import { counted, sourceName, timeText } from './words.js';

/** @typedef {{source: string, status: string, attempt: number, resources: number, completedAt?: string, reason?: string}} Source */
/** @typedef {{requestId: string, status: string, startedAt: string, sources: Source[]}} Query */

/** @type {Record<string, string>} */
const QUERY_WORDS = {
  running: 'Under way',
  completed: 'Completed',
  partial: 'Completed in part',
  failed: 'Failed',
};
/** @type {Record<string, string>} */
const SOURCE_WORDS = {
  running: 'Collecting',
  waiting: 'To be tried again',
  completed: 'Completed',
  failed: 'Failed',
};
/** Shown at once; the others on demand. */
const OPEN = 1;

/**
 * The queries of the patient, drawn anew with every event; what changed is told to those who hear the page.
 * @param {{onEnded: () => void}} options
 */
export function createQueries({ onEnded }) {
  /** @type {Map<string, string>} */
  let known = new Map();
  let isFirst = true;
  let showsOlder = false;

  return {
    /** @param {Query[]} queries newest first */
    update(queries) {
      const now = new Map(
        queries.flatMap((query) => [
          [query.requestId, query.status],
          ...query.sources.map(
            ({ source, status }) =>
              /** @type {[string, string]} */ ([`${query.requestId}/${source}`, status]),
          ),
        ]),
      );
      const hasEnded = queries.some(
        ({ requestId, status }) => status !== 'running' && known.get(requestId) !== status,
      );
      if (!isFirst) tell(queries, known);
      if (!isFirst && hasEnded) onEnded();
      known = /** @type {Map<string, string>} */ (now);
      isFirst = false;
      draw(queries);
    },
  };

  /** @param {Query[]} queries */
  function draw(queries) {
    const content = contentOf('queries');
    if (queries.length === 0)
      return show(content, el('p.quiet', {}, 'No source has been asked about this patient yet.'));
    const older = queries.slice(OPEN);
    const details =
      older.length > 0 &&
      el(
        'details.older',
        {
          open: showsOlder,
          ontoggle: (/** @type {Event} */ { target }) => {
            showsOlder = /** @type {HTMLDetailsElement} */ (target).open;
          },
        },
        el('summary', {}, counted(older.length, 'earlier query', 'earlier queries')),
        ...older.map(queryCard),
      );
    const hadFocus = document.activeElement?.matches('#queries summary') === true;
    show(content, ...queries.slice(0, OPEN).map(queryCard), ...(details ? [details] : []));
    if (hadFocus) /** @type {HTMLElement | null} */ (content.querySelector('summary'))?.focus();
  }
}

/** @param {Query} query */
function queryCard({ status, startedAt, sources }) {
  return el(
    'article.query',
    { 'aria-label': `Query of ${timeText(startedAt)}` },
    el(
      'p.line',
      {},
      el('span.state', { 'data-state': status }, QUERY_WORDS[status] ?? status),
      el('time.quiet', { datetime: startedAt }, timeText(startedAt)),
    ),
    el('ul.sources', {}, ...sources.map(sourceLine)),
  );
}

/** @param {Source} progress */
function sourceLine({ source, status, attempt, resources, reason }) {
  const label = sourceName(source);
  const found = status === 'completed' || resources > 0 ? counted(resources, 'entry', 'entries') : undefined;
  const remarks = [found, attempt > 1 && `attempt ${attempt}`].filter(Boolean).join(' · ');
  return el(
    'li',
    {},
    el('span.source', {}, label),
    el('span.state', { 'data-state': status }, SOURCE_WORDS[status] ?? status),
    remarks !== '' && el('span.quiet', {}, remarks),
    status === 'running' && el('progress', { 'aria-label': `${label}: collecting` }),
    reason !== undefined && el('span.reason', { dir: 'auto' }, reason),
  );
}

/** @param {Query[]} queries @param {Map<string, string>} before */
function tell(queries, before) {
  const news = queries.flatMap((query) => {
    const was = before.get(query.requestId);
    if (was === undefined) return ['A query has begun'];
    const sources = query.sources
      .filter(({ source, status }) => before.get(`${query.requestId}/${source}`) !== status)
      .map(
        ({ source, status }) => `${sourceName(source)}: ${(SOURCE_WORDS[status] ?? status).toLowerCase()}`,
      );
    const whole =
      was !== query.status ? [`The query is over: ${(QUERY_WORDS[query.status] ?? '').toLowerCase()}`] : [];
    return [...sources, ...whole];
  });
  if (news.length > 0) announce(`${news.join('. ')}.`);
}
