import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';

/** Resolves when a query has ended. */
export type Ends = ReturnType<typeof createEnds>;

/**
 * Notes in this process when the steps of all sources of a query have
 * completed. Queries and bare workflows are waited for like this, as jobs are,
 * so that none of them pays for a caller who waits: no application asks
 * Temporal for a result. A step that fails, or whose source does not answer at
 * once, ends the benchmark.
 */
export function createEnds() {
  const waiting = new Map<
    string,
    {
      open: Set<SourceType>;
      resolve: () => void;
      reject: (error: unknown) => void;
    }
  >();
  return {
    /** The same step, noted where it completes its source. */
    noting:
      <Step extends { requestId: string; source: SourceType }, End>(
        ask: (step: Step) => Promise<End>,
        isComplete: (end: End) => boolean,
      ) =>
      async (step: Step): Promise<End> => {
        const query = waiting.get(step.requestId);
        const end = await ask(step).catch((error: unknown) => {
          query?.reject(error);
          throw error;
        });
        if (!isComplete(end))
          query?.reject(new Error(`${step.source} did not answer at once`));
        query?.open.delete(step.source);
        if (query?.open.size === 0) {
          waiting.delete(step.requestId);
          query.resolve();
        }
        return end;
      },

    of: (requestId: string): Promise<void> =>
      new Promise((resolve, reject) =>
        waiting.set(requestId, {
          open: new Set(SOURCE_TYPES),
          resolve,
          reject,
        }),
      ),
  };
}
