import { createHmac } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { InvalidRequestError } from '../../platform/errors.ts';
import type { SearchPair } from './rules/search-request.ts';

/** Where the next page of a search begins, with the search itself. */
export interface PageCursor<Place> {
  /** The path below `/fhir/R4/` that it belongs to. */
  path: string;
  pairs: readonly SearchPair[];
  place: Place;
}

const VALID_FOR = '1 day';

/**
 * Cursors are encrypted: a search may have been sent by POST to keep a name or an identifier out of URLs, and the link to its
 * next page is a URL.
 */
export function createPageCursors(linkSigningKey: string) {
  const key = createHmac('sha256', linkSigningKey).update('fhir page cursors').digest();
  return {
    write: <Place>({ path, pairs, place }: PageCursor<Place>): Promise<string> =>
      new EncryptJWT({ pairs, place })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(path)
        .setExpirationTime(VALID_FOR)
        .encrypt(key),
    /** @throws InvalidRequestError when we did not issue it for this path, or it has expired */
    async read<Place>(path: string, text: string): Promise<PageCursor<Place>> {
      try {
        const { payload } = await jwtDecrypt<Omit<PageCursor<Place>, 'path'>>(text, key, { audience: path });
        return { path, pairs: payload.pairs, place: payload.place };
      } catch {
        const message =
          'is not a cursor of this search, or has expired; follow the link "next" of a page unchanged';
        throw new InvalidRequestError([{ path: '_page', message }]);
      }
    },
  };
}

export type PageCursors = ReturnType<typeof createPageCursors>;
