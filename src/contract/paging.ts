import { z } from 'zod';
import { quoted } from './bounds.ts';

export interface SortBy<C extends string = string> {
  column: C;
  direction: 'asc' | 'desc';
}

/** Items of a page when `count` is not given, and at most (interface.md names 100 for E9 only). */
export const PAGE_COUNT = { default: 50, max: 500 } as const;

/** How many items of a list are wanted. */
export const itemCount = z.coerce
  .number({ error: 'count is a whole number' })
  .int({ error: 'count is a whole number' })
  .min(1, { error: 'count is at least 1' });

/**
 * The query of a list: its filters, and what every list takes (interface-decisions.md, Pagination). Cursors come from
 * `meta` of an earlier page.
 */
export function pageQuery<F extends z.ZodRawShape>(
  filters: F,
  { sort, countMax = PAGE_COUNT.max }: { sort: readonly string[]; countMax?: number },
) {
  const cursor = z.string().min(1, { error: 'is not a cursor of this list' }).max(1000).optional();
  return z
    .object({
      ...filters,
      fromItem: cursor.meta({ description: 'Starts the page at this item; as in `meta.nextPage`.' }),
      toItem: cursor.meta({ description: 'Ends the page at this item; as in `meta.prevPage`.' }),
      count: itemCount.max(countMax, { error: `count is at most ${countMax}` }).default(PAGE_COUNT.default),
      sort: z
        .string()
        .max(200, { abort: true })
        .optional()
        .superRefine((text, context) => {
          const message = text === undefined ? undefined : sortMistake(text, sort);
          if (message !== undefined) context.addIssue({ code: 'custom', message });
        })
        .meta({
          pattern: sortPattern(sort),
          description: `As in \`createdAt=desc,id=asc\`. Columns: ${sort.join(', ')}.`,
        }),
    })
    .refine((query: { fromItem?: unknown; toItem?: unknown }) => !(query.fromItem && query.toItem), {
      path: ['toItem'],
      error: 'fromItem and toItem exclude each other',
    });
}

/** Columns with their directions; that none may be named twice, a pattern says badly. */
function sortPattern(columns: readonly string[]): string {
  const part = `\\s*(${columns.join('|')})\\s*=\\s*(asc|desc)\\s*`;
  return `^${part}(,${part}){0,${columns.length - 1}}$`;
}

/** What a `sort` that passed `pageQuery` asks for. */
export function parseSort(text: string): SortBy[] {
  return text.split(',').map((part) => {
    const [column = '', direction] = part.split('=').map((side) => side.trim());
    return { column, direction: direction === 'desc' ? 'desc' : 'asc' };
  });
}

function sortMistake(text: string, columns: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    const [column = '', direction, ...rest] = part.split('=').map((side) => side.trim());
    if (!columns.includes(column)) return `cannot sort by ${quoted(column)}, only by ${columns.join(', ')}`;
    if (seen.has(column)) return `names ${column} twice`;
    seen.add(column);
    if (!(direction === 'asc' || direction === 'desc') || rest.length > 0) {
      return `${quoted(part)} is not of the form ${column}=asc or ${column}=desc`;
    }
  }
  return undefined;
}
