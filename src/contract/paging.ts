import { z } from 'zod';
import { ETAG_LENGTH_MAX, quoted } from './bounds.ts';
import { component } from './primitives.ts';

export const ifMatch = z.object({
  'if-match': z
    .string()
    .max(ETAG_LENGTH_MAX)
    .optional()
    .describe('The last known eTag. 412 if it is no longer current.'),
});
/**
 * Optional body of operations whose other parameters are all in the path and
 * query.
 */
export const eTagBody = z
  .object({
    eTag: z
      .string()
      .max(ETAG_LENGTH_MAX)
      .optional()
      .describe('The last known eTag; an alternative to `If-Match`.'),
  })
  .nullish()
  .transform((body) => body ?? {});
export const pageMetaSchema = component('PageMeta', {
  itemsOnPage: z.number().int(),
  itemsInTotal: z
    .number()
    .int()
    .describe('Counted up to 10,000; the patients of a cohort always.'),
  itemsInTotalIsMinimum: z
    .literal(true)
    .optional()
    .describe('Present when there are more than `itemsInTotal`.'),
  nextPage: z.string().optional(),
  prevPage: z.string().optional(),
});

export interface SortBy<C extends string = string> {
  column: C;
  direction: 'asc' | 'desc';
}

/**
 * Default and maximum number of items per page; E9 has its own maximum of 100.
 */
const PAGE_COUNT = { default: 50, max: 500 } as const;

/** Query parameter `count`: the number of items to return. */
export const itemCount = z.coerce
  .number({ error: 'count must be a whole number' })
  .int({ error: 'count must be a whole number' })
  .min(1, { error: 'count must be at least 1' });

/**
 * Query parameters of a list: its own filters and the common paging parameters
 * (docs/interface.md, Pagination). Cursors are taken from `meta` of an earlier
 * page.
 *
 * @param sort the columns by which the list can be sorted
 */
export function pageQuery<F extends z.ZodRawShape = Record<never, never>>(
  sort: readonly string[],
  filters: F = {} as F,
  countMax: number = PAGE_COUNT.max,
) {
  const cursor = z
    .string()
    .min(1, { error: 'is not a cursor of this list' })
    .max(1000)
    .optional();
  return z
    .object({
      ...filters,
      fromItem: cursor.describe(
        'Cursor of the first item of the page, from `meta.nextPage` of another page.',
      ),
      toItem: cursor.describe(
        'Cursor of the last item of the page, from `meta.prevPage` of another page.',
      ),
      count: itemCount
        .max(countMax, { error: `count must be at most ${countMax}` })
        .default(PAGE_COUNT.default),
      sort: z
        .string()
        .max(200, { abort: true })
        .optional()
        .superRefine((text, context) => {
          const message =
            text === undefined ? undefined : sortProblem(text, sort);
          if (message !== undefined)
            context.addIssue({ code: 'custom', message });
        })
        .meta({
          pattern: sortPattern(sort),
          description: `Columns with their directions, such as \`${sort.map((column) => `${column}=desc`).join(',')}\`. Columns: ${sort.join(', ')}.`,
        }),
    })
    .refine(
      (query: { fromItem?: unknown; toItem?: unknown }) =>
        !(query.fromItem && query.toItem),
      {
        path: ['toItem'],
        error: 'fromItem and toItem cannot be used together',
      },
    );
}

/**
 * Pattern of `sort` for the OpenAPI document. It does not express that a column
 * may occur only once.
 */
function sortPattern(columns: readonly string[]): string {
  const part = `\\s*(${columns.join('|')})\\s*=\\s*(asc|desc)\\s*`;
  return `^${part}(,${part}){0,${columns.length - 1}}$`;
}

/** Parses a `sort` parameter that `pageQuery` has validated. */
export function parseSort(text: string): SortBy[] {
  return text.split(',').map((part) => {
    const [column = '', direction] = part.split('=').map((side) => side.trim());
    return { column, direction: direction === 'desc' ? 'desc' : 'asc' };
  });
}

/**
 * Returns the error message for an invalid `sort`, undefined for a valid one.
 */
function sortProblem(
  text: string,
  columns: readonly string[],
): string | undefined {
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    const [column = '', direction, ...rest] = part
      .split('=')
      .map((side) => side.trim());
    if (!columns.includes(column))
      return `cannot sort by ${quoted(column)}; use ${columns.join(', ')}`;
    if (seen.has(column)) return `names ${column} twice`;
    seen.add(column);
    if (!(direction === 'asc' || direction === 'desc') || rest.length > 0) {
      return `${quoted(part)} must have the form ${column}=asc or ${column}=desc`;
    }
  }
  return undefined;
}
