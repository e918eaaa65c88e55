import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { parseSort, type SortBy } from '../../../contract/paging.ts';
import type {
  CountedPage,
  ListOrder,
  ListPlace,
  PageRequest,
} from '../database/page.ts';
import { InvalidRequestError } from '../errors.ts';
import type { GatewayPlatform } from './deps.ts';
import type { OperationName } from './operation.ts';

/**
 * `linkSigningKey` signs cursors, so that only cursors issued by this service
 * are accepted.
 */
export type PagingDeps = Pick<
  GatewayPlatform,
  'publicBaseUrl' | 'linkSigningKey'
>;

/** A list request after validation by `pageQuery`. */
interface ListRequest {
  params?: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string | number | boolean | undefined>> & {
    fromItem?: string;
    toItem?: string;
    count: number;
    sort?: string;
  };
}

export interface PageMeta {
  itemsOnPage: number;
  itemsInTotal: number;
  itemsInTotalIsMinimum?: true;
  nextPage?: string;
  prevPage?: string;
}

export interface OpenedPage {
  /** The page to read from the store. */
  request: PageRequest;
  /**
   * Makes `meta` of the response; its links to other pages keep the filters.
   */
  meta(
    page: Omit<CountedPage<unknown>, 'items'> & { items: readonly unknown[] },
  ): PageMeta;
}

/**
 * Determines which page of a list is requested. Cursors are opaque, encode an
 * item's place, and are valid only for the operation, filters and sort they
 * were issued for. Throws InvalidRequestError for any other cursor.
 */
export function openPage(
  deps: PagingDeps,
  name: OperationName,
  { params, query }: ListRequest,
  order: Pick<ListOrder, 'default'>,
): OpenedPage {
  const { fromItem, toItem, ...kept } = query;
  const sort = query.sort === undefined ? order.default : parseSort(query.sort);
  const { count, sort: _sort, ...filters } = kept;
  const list = createHash('sha256')
    .update(
      JSON.stringify(
        { ...params, ...filters },
        Object.keys({ ...params, ...filters }).sort(),
      ),
    )
    .digest('base64url')
    .slice(0, 16);
  const cursors = cursorsOf(deps.linkSigningKey, name, sort, list);
  const address = (cursor: { fromItem?: string; toItem?: string }) =>
    new URL(
      deps.publicBaseUrl +
        targetOf(endpoints[name], params, { ...kept, ...cursor }),
    ).href;
  return {
    request: {
      sort,
      count,
      from:
        fromItem === undefined ? undefined : cursors.read('fromItem', fromItem),
      to: toItem === undefined ? undefined : cursors.read('toItem', toItem),
    },
    meta: ({ items, total, isTotalMinimum, previous, next }) => ({
      itemsOnPage: items.length,
      itemsInTotal: total,
      itemsInTotalIsMinimum: isTotalMinimum === true ? true : undefined,
      nextPage: next && address({ fromItem: cursors.write(next) }),
      prevPage: previous && address({ toItem: cursors.write(previous) }),
    }),
  };
}

/**
 * `<place>.<signature>`, each in base64url.
 *
 * @param list hash of the filters. It follows the values of the place, where
 *   0.1.0 overlooks it; a cursor of 0.1.0 has none.
 */
function cursorsOf(
  key: string,
  name: OperationName,
  sort: readonly SortBy[],
  list: string,
) {
  const scope = `page-cursor/${name}/${sort.map(({ column, direction }) => `${column}=${direction}`).join(',')}/`;
  const sign = (place: string) =>
    createHmac('sha256', key).update(scope).update(place).digest('base64url');
  return {
    write(place: ListPlace): string {
      const text = Buffer.from(JSON.stringify([...place, { list }])).toString(
        'base64url',
      );
      return `${text}.${sign(text)}`;
    },
    read(field: 'fromItem' | 'toItem', cursor: string): ListPlace {
      const [text = '', signature = ''] = cursor.split(/\.(.*)/s);
      const given = Buffer.from(signature);
      const own = Buffer.from(sign(text));
      if (given.length === own.length && timingSafeEqual(given, own)) {
        const place: (string | { list: string })[] = JSON.parse(
          Buffer.from(text, 'base64url').toString(),
        );
        const of = place.find((each) => typeof each === 'object');
        if (of === undefined || of.list === list)
          return place.filter((each) => typeof each === 'string');
      }
      const message =
        'is not a cursor of this list with these filters and this sort; copy it unchanged from nextPage or prevPage';
      throw new InvalidRequestError([{ path: field, message }]);
    },
  };
}

/**
 * Path and query string of a request:
 * `/medical/v1/patient/0192…/cohort?count=100`.
 */
export function targetOf(
  { path }: Endpoint,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? name),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? filled : `${filled}?${search}`;
}
