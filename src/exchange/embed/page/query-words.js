import { sourceName } from './words.js';

/** @typedef {import('./queries.js').Query} Query */

/** @type {Record<string, string>} */
export const QUERY_WORDS = {
  running: 'Under way',
  completed: 'Completed',
  partial: 'Completed in part',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
/** @type {Record<string, string>} */
export const SOURCE_WORDS = {
  running: 'Collecting',
  waiting: 'To be tried again',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** What has changed, in a sentence or two; nothing of numbers that only grow. @param {Query[]} queries @param {Map<string, Query>} before */
export function tellOf(queries, before) {
  const news = queries.flatMap((query) => {
    const was = before.get(query.requestId);
    if (was === undefined) return ['A query has begun'];
    const sources = query.sources
      .filter(({ source, status }) => was.sources.find((each) => each.source === source)?.status !== status)
      .map(
        ({ source, status }) => `${sourceName(source)}: ${(SOURCE_WORDS[status] ?? status).toLowerCase()}`,
      );
    const whole =
      was.status !== query.status
        ? [`The query is over: ${(QUERY_WORDS[query.status] ?? '').toLowerCase()}`]
        : [];
    return [...sources, ...whole];
  });
  return news.length === 0 ? '' : `${news.join('. ')}.`;
}
