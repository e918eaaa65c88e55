import { describe, expect, test } from 'vitest';
import { PreconditionFailedError } from '../../../src/exchange/platform/errors.ts';
import {
  checkETag,
  eTagHeader,
  eTagOf,
} from '../../../src/exchange/platform/http/etag.ts';

const thing = { version: 3 };

describe('an eTag', () => {
  test.each([undefined, '*', 'v3', '"v3"', 'W/"v3"', '"v2", "v3"'])(
    'given as %s lets the change through',
    (tag) => {
      expect(() =>
        checkETag('The patient', { 'if-match': tag })(thing),
      ).not.toThrow();
    },
  );

  test.each(['v2', '"v2"', 'W/"v33"', '""', 'v'])(
    'given as %s stops it',
    (tag) => {
      expect(() =>
        checkETag('The patient', { 'if-match': tag })(thing),
      ).toThrow(PreconditionFailedError);
    },
  );

  test('stops it when one of header and body is stale', () => {
    expect(() =>
      checkETag('The patient', { 'if-match': '"v3"' }, { eTag: 'v2' })(thing),
    ).toThrow(PreconditionFailedError);
  });

  test('is quoted in the header and bare in a body', () => {
    expect([eTagHeader(thing).etag, eTagOf(thing)]).toEqual(['"v3"', 'v3']);
  });
});
