import { z } from 'zod';
import { InvalidRequestError } from '../errors.ts';

/** Where a page of a list in order of time ends. */
export interface Cursor {
  startedAt: string;
  id: string;
}

const cursorSchema = z.object({ startedAt: z.iso.datetime(), id: z.uuid() });

/** Opaque to callers: an item's place in the list, which new items do not move. */
export const writeCursor = (cursor: Cursor): string =>
  Buffer.from(JSON.stringify(cursor)).toString('base64url');

/** Throws InvalidRequestError for anything that no page has named. */
export function readCursor(fromItem: string): Cursor {
  const parsed = cursorSchema.safeParse(parseJson(Buffer.from(fromItem, 'base64url').toString()));
  if (parsed.success) return parsed.data;
  throw new InvalidRequestError([{ path: 'fromItem', message: 'is not a cursor of this list' }]);
}

/** Address of the next page: the same filters, from the cursor on. */
export function nextPageUrl(address: string, query: Record<string, string | number | undefined>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
