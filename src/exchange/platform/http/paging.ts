import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { parseSort, type SortBy } from '../../../contract/paging.ts';
import type { ListOrder, Page, PageRequest, Place } from '../database/page.ts';
import { InvalidRequestError } from '../errors.ts';
import type { OperationName } from './operation.ts';

export interface PagingDeps {
  /** Address at which callers reach this gateway, without a slash at the end. */
  publicBaseUrl: string;
  /** Cursors are signed with it, so that only places that a page has named are looked up. */
  linkSigningKey: string;
}

/** A list request, as `pageQuery` made it. */
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
  nextPage?: string;
  prevPage?: string;
}

export interface OpenedPage {
  /** What the store is asked for. */
  request: PageRequest;
  /** `meta` of the answer; the addresses of the pages around carry the same filters. */
  meta(
    page: Pick<Page<unknown>, 'previous' | 'next'> & { items: readonly unknown[]; total: number },
  ): PageMeta;
}

/**
 * Reads which page of a list is asked for. Cursors are opaque, name an item's place, and hold for the operation and
 * the sort they were made for. Throws InvalidRequestError for a cursor that no page of this list has named.
 */
export function openPage(
  deps: PagingDeps,
  name: OperationName,
  { params, query }: ListRequest,
  order: Pick<ListOrder, 'default'>,
): OpenedPage {
  const { fromItem, toItem, ...kept } = query;
  const sort = query.sort === undefined ? order.default : parseSort(query.sort);
  const cursors = cursorsOf(deps.linkSigningKey, name, sort);
  const address = (cursor: { fromItem?: string; toItem?: string }) =>
    addressOf(deps.publicBaseUrl, name, params ?? {}, { ...kept, ...cursor });
  return {
    request: {
      sort,
      count: query.count,
      from: fromItem === undefined ? undefined : cursors.read('fromItem', fromItem),
      to: toItem === undefined ? undefined : cursors.read('toItem', toItem),
    },
    meta: ({ items, total, previous, next }) => ({
      itemsOnPage: items.length,
      itemsInTotal: total,
      nextPage: next && address({ fromItem: cursors.write(next) }),
      prevPage: previous && address({ toItem: cursors.write(previous) }),
    }),
  };
}

/** `<place>.<signature>`, each in base64url. */
function cursorsOf(key: string, name: OperationName, sort: readonly SortBy[]) {
  const scope = `page-cursor/${name}/${sort.map(({ column, direction }) => `${column}=${direction}`).join(',')}/`;
  const sign = (place: string) => createHmac('sha256', key).update(scope).update(place).digest('base64url');
  return {
    write(place: Place): string {
      const text = Buffer.from(JSON.stringify(place)).toString('base64url');
      return `${text}.${sign(text)}`;
    },
    read(field: 'fromItem' | 'toItem', cursor: string): Place {
      const [text = '', signature = ''] = cursor.split(/\.(.*)/s);
      const [given, own] = [Buffer.from(signature), Buffer.from(sign(text))];
      if (given.length === own.length && timingSafeEqual(given, own)) {
        return JSON.parse(Buffer.from(text, 'base64url').toString());
      }
      const message = 'is not a cursor of this list in this sort; take it from meta of a page as it is';
      throw new InvalidRequestError([{ path: field, message }]);
    },
  };
}

function addressOf(
  baseUrl: string,
  name: OperationName,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const { path }: Endpoint = endpoints[name];
  const filled = path.replaceAll(/:(\w+)/g, (_, param: string) => encodeURIComponent(params[param] ?? ''));
  const url = new URL(`${baseUrl}${filled}`);
  for (const [member, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(member, String(value));
  }
  return url.href;
}
