/** A source merged two of its records of one person: everything of `prior` now belongs to `surviving`. */
export interface SourceMerge {
  prior: string;
  surviving: string;
  recordedAt: string;
  /** Sorts merges in the order in which they arrived, which decides between those recorded at the same time. */
  arrival: string;
}

/**
 * The merge that leads from a record to the record it is part of now; undefined when it was never merged. The newest merge of
 * a record counts and, in a cycle of merges, the newest of the cycle, so the result does not depend on the order
 * of arrival, unless both were recorded at the same time.
 */
export function survivingRecord<M extends SourceMerge>(record: string, merges: readonly M[]): M | undefined {
  const path: M[] = [];
  for (let at = record; ; ) {
    const next = newest(merges.filter(({ prior }) => prior === at));
    if (next === undefined) break;
    const circle = path.findIndex(({ prior }) => prior === next.prior);
    if (circle >= 0) return newest(path.slice(circle));
    path.push(next);
    at = next.surviving;
  }
  return path.at(-1);
}

function newest<M extends SourceMerge>(merges: readonly M[]): M | undefined {
  return [...merges].sort(compareMerges).at(-1);
}

const compareMerges = (a: SourceMerge, b: SourceMerge): number =>
  (a.recordedAt === b.recordedAt ? a.arrival < b.arrival : a.recordedAt < b.recordedAt) ? -1 : 1;
