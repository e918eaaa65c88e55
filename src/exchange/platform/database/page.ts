import {
  type QueryExecutorProvider,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
} from 'kysely';
import type { SortBy } from '../../../contract/paging.ts';

/**
 * An item's place in a list: the values of its sort columns as text; times have
 * microseconds.
 */
export type ListPlace = readonly string[];

export interface PageRequest {
  sort: readonly SortBy[];
  count: number;
  /** First item of the page. */
  from?: ListPlace;
  /** Last item of the page; cannot be combined with `from`. */
  to?: ListPlace;
}

export interface Page<T> {
  items: T[];
  /** Last item of the previous page; undefined at the start of the list. */
  previous?: ListPlace;
  /** First item of the next page; undefined at the end of the list. */
  next?: ListPlace;
}

/** A page of a list, and how many items the list has. */
export interface CountedPage<T> extends Page<T> {
  total: number;
  /** There are more than `total`. */
  isTotalMinimum?: boolean;
}

/** Up to so many items, the total of a list is exact. */
export const COUNTED_MAX = 10_000;

interface Column {
  ref: RawBuilder<unknown>;
  type: 'uuid' | 'timestamptz' | 'integer';
}

/**
 * Sort columns of a list. They must be immutable and not null, so that an
 * item's place never changes.
 */
export interface ListOrder<C extends string = string> {
  columns: Readonly<Record<C, Column>>;
  /**
   * The column with unique values; columns after it in a sort have no effect.
   */
  unique: NoInfer<C>;
  /**
   * Appended to the sort, to order items that are equal in all other columns.
   */
  tieBreak: Column;
  default: readonly SortBy<NoInfer<C>>[];
}

export const column = (ref: string, type: Column['type']): Column => ({
  ref: sql.ref(ref),
  type,
});

/**
 * The order of a list of which the newest items come first. @param sort the
 * columns of the list's sort; then what is in them
 */
export function newestFirst<T extends string, I extends string>(
  [time, id]: readonly [T, I],
  timeRef: string,
  idRef: string,
): ListOrder<T | I> {
  const tieBreak = column(idRef, 'uuid');
  const columns = {
    [time]: column(timeRef, 'timestamptz'),
    [id]: tieBreak,
  } as Record<T | I, Column>;
  return {
    columns,
    unique: id,
    tieBreak,
    default: [{ column: time, direction: 'desc' }],
  };
}

type Key = Column & { direction: 'asc' | 'desc' };

/**
 * Reads one page of the rows that `rows` selects (keyset pagination). Pages are
 * located by sort values, not by offset, so that items added or removed in the
 * meantime do not move other items to another page.
 */
export async function readPage<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  order: ListOrder,
  request: PageRequest,
): Promise<Page<O>> {
  const keys = keysOf(order, request.sort);
  const backward = request.to !== undefined;
  const edge = request.from ?? request.to;
  // One more than requested: the first item of the adjacent page.
  let query = inOrder(rows, keys, backward).limit(request.count + 1);
  if (edge !== undefined)
    query = query.where(beyond(keys, edge, { backward, inclusive: true }));
  const found = (await query.execute()) as (O & { place: ListPlace })[];

  const shown = found.slice(0, request.count);
  const further = found[request.count]?.place;
  const behind =
    edge &&
    (await adjacentPlace(rows, keys, shown[0]?.place ?? edge, !backward));
  if (backward) shown.reverse();
  return backward
    ? { items: shown, previous: further, next: behind }
    : { items: shown, previous: behind, next: further };
}

/**
 * A page, and how many rows there are in total, counted up to `COUNTED_MAX`:
 * counting a million costs more than the page.
 */
export async function readCountedPage<DB, TB extends keyof DB, O>(
  db: QueryExecutorProvider,
  rows: SelectQueryBuilder<DB, TB, O>,
  order: ListOrder,
  request: PageRequest,
): Promise<CountedPage<O>> {
  const listed = rows
    .clearSelect()
    .select(sql`1`.as('one'))
    .limit(COUNTED_MAX + 1);
  const counted = await sql<{
    total: number;
  }>`select count(*)::int as total from (${listed}) as listed`.execute(db);
  const total = counted.rows[0]?.total ?? 0;
  const page = await readPage(rows, order, request);
  return {
    ...page,
    total: Math.min(total, COUNTED_MAX),
    isTotalMinimum: total > COUNTED_MAX,
  };
}

/**
 * The place of the item next to `place`, in the direction away from the page;
 * undefined if there is none.
 */
async function adjacentPlace<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  keys: readonly Key[],
  place: ListPlace,
  backward: boolean,
): Promise<ListPlace | undefined> {
  const query = inOrder(rows.clearSelect(), keys, backward)
    .where(beyond(keys, place, { backward, inclusive: false }))
    .limit(1);
  const [row] = (await query.execute()) as { place: ListPlace }[];
  return row?.place;
}

function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  keys: readonly Key[],
  backward: boolean,
) {
  const place = sql<ListPlace>`json_build_array(${sql.join(keys.map(({ ref }) => sql`${ref}::text`))})`;
  let query = rows.select(place.as('place'));
  for (const { ref, direction } of keys) {
    query = query.orderBy(
      ref,
      (direction === 'asc') !== backward ? 'asc' : 'desc',
    );
  }
  return query;
}

/**
 * The columns of the sort up to the unique one; without it, the tie-break
 * column is appended.
 */
function keysOf(order: ListOrder, sort: readonly SortBy[]): Key[] {
  const keys: Key[] = [];
  for (const { column: name, direction } of sort) {
    const sorted = order.columns[name];
    if (sorted === undefined) throw new Error(`no column ${name} in this list`);
    keys.push({ ...sorted, direction });
    if (name === order.unique) return keys;
  }
  return [
    ...keys,
    { ...order.tieBreak, direction: keys.at(-1)?.direction ?? 'asc' },
  ];
}

/**
 * SQL condition: the item is after a place in the order of the list, or before
 * it if `backward`.
 */
function beyond(
  keys: readonly Key[],
  place: ListPlace,
  { backward, inclusive }: { backward: boolean; inclusive: boolean },
): RawBuilder<boolean> {
  const values = keys.map(
    ({ type }, index) => sql`${place[index]}::${sql.raw(type)}`,
  );
  const operator = ({ direction }: Key, orEqual: boolean) =>
    sql.raw(
      ((direction === 'asc') !== backward ? '>' : '<') + (orEqual ? '=' : ''),
    );
  const [first, ...others] = keys;
  if (first === undefined)
    throw new Error('a list needs at least one sort column');
  // If all directions are the same, a single row comparison, which can use an
  // index.
  if (others.every(({ direction }) => direction === first.direction)) {
    return sql`(${sql.join(keys.map(({ ref }) => ref))}) ${operator(first, inclusive)} (${sql.join(values)})`;
  }
  const steps = keys.map((key, index) => {
    const equal = keys
      .slice(0, index)
      .map(({ ref }, at) => sql`${ref} = ${values[at]}`);
    const orEqual = inclusive && index === keys.length - 1;
    const step = sql`${key.ref} ${operator(key, orEqual)} ${values[index]}`;
    return sql`(${sql.join([...equal, step], sql` and `)})`;
  });
  return sql`(${sql.join(steps, sql` or `)})`;
}
