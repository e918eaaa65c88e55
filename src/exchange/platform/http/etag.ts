import { PreconditionFailedError } from '../errors.ts';

/** The tag of a thing's version, as it stands in a body's `eTag`. */
export const eTagOf = (thing: { version: number }): string => `v${thing.version}`;

/** The response header of an answer about one thing. */
export const eTagHeader = (thing: { version: number }): { etag: string } => ({ etag: `"${eTagOf(thing)}"` });

/**
 * Refuses with 412 a change of something that is no longer as the caller saw it. Accepts the tag of the `If-Match`
 * header or of the body, bare, quoted or weak, a list of them, and `*`. None given: no check.
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
