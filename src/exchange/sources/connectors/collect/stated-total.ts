import { createHash } from 'node:crypto';
import { isRecord } from '../http/failures.ts';
import type { ResponseEntry } from './plan.ts';

/** More results than this are not counted: their names go with the cursor. */
const COUNTED_MAX = 5_000;

/**
 * Adds a page to the results of a request that came before it, by short hashes
 * of their names: a result that two pages bring is one. What is included
 * counts, too, because some servers count it in their total.
 *
 * @returns undefined when they are not counted, or no longer
 */
export function countResults(
  before: readonly string[] | undefined,
  entries: readonly ResponseEntry[],
): string[] | undefined {
  if (before === undefined) return undefined;

  const names = entries.flatMap(({ resource, fullUrl }) => {
    if (!isRecord(resource)) return [];
    const { resourceType, id } = resource;
    if (resourceType === 'OperationOutcome') return [];
    return [
      typeof id === 'string'
        ? `${String(resourceType)}/${id}`
        : (fullUrl ?? JSON.stringify(resource)),
    ];
  });
  const counted = [...new Set([...before, ...names.map(shortHash)])];
  return counted.length > COUNTED_MAX ? undefined : counted;
}

const shortHash = (name: string): string =>
  createHash('sha256').update(name).digest('base64url').slice(0, 8);

/**
 * What the record lacks by the source's own sum (`Bundle.total`), after the
 * last page; undefined when nothing is missing, or nothing was counted.
 */
export function missingByTotal(
  { total, next }: { total?: number; next?: string },
  counted: readonly string[] | undefined,
  searchedType?: string,
): string | undefined {
  if (next !== undefined || total === undefined || counted === undefined)
    return undefined;
  return counted.length < total
    ? `the source counts ${total} results of ${searchedType ?? '$everything'} and sent ${counted.length}`
    : undefined;
}
