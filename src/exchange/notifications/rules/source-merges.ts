/** A source has found that two of its records are one person: what stood under `prior` belongs to `surviving`. */
export interface SourceMerge {
  prior: string;
  surviving: string;
  recordedAt: string;
}

/**
 * The record under which a source's person stands now, and the merge that led there; undefined where there was none.
 * The newest merge of a record counts; where merges go round in a circle, the newest of the circle. So the result
 * does not depend on the order in which the merges came.
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
  a.recordedAt === b.recordedAt ? (a.surviving < b.surviving ? -1 : 1) : a.recordedAt < b.recordedAt ? -1 : 1;
