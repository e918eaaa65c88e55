import { PreconditionFailedError } from '../errors.ts';

/** The value of `eTag` in bodies, derived from the version. */
export const eTagOf = (thing: { version: number }): string =>
  `v${thing.version}`;

/** The `ETag` header of a response. */
export const eTagHeader = (thing: { version: number }): { etag: string } => ({
  etag: `"${eTagOf(thing)}"`,
});

/**
 * A check that throws PreconditionFailedError (412) if the version has changed
 * since the caller read it. It accepts the tag of the `If-Match` header or of
 * the body: bare, quoted or weak, a list, or `*`. Without a tag nothing is
 * checked.
 */
export const checkETag =
  (
    what: string,
    headers: { 'if-match'?: string },
    body: { eTag?: string } = {},
  ) =>
  (thing: { version: number }): void => {
    for (const tags of [headers['if-match'], body.eTag]) {
      if (tags === undefined || tags.trim() === '*') continue;
      const seen = tags.split(',').map((tag) =>
        tag
          .trim()
          .replace(/^W\//, '')
          .replace(/^"(.*)"$/, '$1'),
      );
      if (!seen.includes(eTagOf(thing)))
        throw new PreconditionFailedError(what);
    }
  };
