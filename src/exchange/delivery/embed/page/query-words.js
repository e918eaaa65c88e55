import { sourceName } from './words.js';

/** @typedef {import('./queries.js').Query} Query */

/** @type {Record<string, string>} */
export const QUERY_WORDS = {
  running: 'Running',
  completed: 'Completed',
  partial: 'Partly completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
/** @type {Record<string, string>} */
export const SOURCE_WORDS = {
  running: 'Being queried',
  waiting: 'Waiting to retry',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** Describes changes of status in a few sentences; growing counts are not mentioned. @param {Query[]} queries @param {Map<string, Query>} before */
export function describeChanges(queries, before) {
  const news = queries.flatMap((query) => {
    const was = before.get(query.requestId);
    if (was === undefined) return ['A query has started'];
    const sources = query.sources
      .filter(
        ({ source, status }) =>
          was.sources.find((each) => each.source === source)?.status !== status,
      )
      .map(
        ({ source, status }) =>
          `${sourceName(source)}: ${(SOURCE_WORDS[status] ?? status).toLowerCase()}`,
      );
    const whole =
      was.status !== query.status
        ? [
            `The query has ended: ${(QUERY_WORDS[query.status] ?? '').toLowerCase()}`,
          ]
        : [];
    return [...sources, ...whole];
  });
  return news.length === 0 ? '' : `${news.join('. ')}.`;
}
