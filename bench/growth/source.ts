import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import {
  observation,
  page,
  sourceOf,
} from '../../test/support/source-pages.ts';

/** A source that answers at once with one small page. */
export const threeObservations: SourceConnector = {
  ...sourceOf([
    page(['a', 'b', 'c'].map((id) => observation(id, `value ${id}`))),
  ]),
  poll: () => Promise.reject(new Error('there is no job')),
  checkMissing: async ({ missing }) => missing.map(() => 'kept' as const),
  cancel: async () => undefined,
};
