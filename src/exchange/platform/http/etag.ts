import { PreconditionFailedError } from '../errors.ts';

/** The value of `eTag` in bodies, derived from the version. */
export const eTagOf = (thing: { version: number }): string => `v${thing.version}`;

/** The `ETag` header of a response. */
export const eTagHeader = (thing: { version: number }): { etag: string } => ({ etag: `"${eTagOf(thing)}"` });

/**
 * Throws PreconditionFailedError (412) if the version has changed since the caller read it. Accepts the tag of the `If-Match`
 * header or of the body: bare, quoted or weak, a list, or `*`. Without a tag nothing is checked.
 */
export function checkETag(what: string, thing: { version: number }, ...given: (string | undefined)[]): void {
  for (const tags of given) {
    if (tags === undefined || tags.trim() === '*') continue;
    const seen = tags.split(',').map((tag) =>
      tag
        .trim()
        .replace(/^W\//, '')
        .replace(/^"(.*)"$/, '$1'),
    );
    if (!seen.includes(eTagOf(thing))) throw new PreconditionFailedError(what);
  }
}
