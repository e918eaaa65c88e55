import { createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { OperationOutcomeIssue } from 'fhir/r4.js';
import { EncryptJWT, jwtDecrypt } from 'jose';
import type { Json } from '#record-summary/fhir';
import { ExchangeError, InvalidRequestError } from '../../platform/errors.ts';
import { jsonParser } from '../../platform/http/client-errors.ts';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import {
  type SearchPair,
  type Subset,
  subsetOf,
} from './rules/search-request.ts';
import {
  INCLUDED_MAX,
  type ServedResource,
  servedProvenance,
} from './search-record.ts';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

export interface BundleLink {
  relation: 'self' | 'next';
  url: string;
}

interface Entry {
  fullUrl?: string;
  resource: Json;
  search: {
    mode: 'match' | 'include' | 'outcome';
    score?: number;
    extension?: Json[];
  };
}

export const searchEntry = (
  base: string,
  resource: Json,
  search: Entry['search'],
): Entry => ({
  fullUrl: `${base}/${String(resource.resourceType)}/${String(resource.id)}`,
  resource: withAddressesAt(base, resource),
  search,
});

/**
 * The entries of matches and what is included with them, each resource once.
 */
export function searchEntriesOf(
  base: string,
  patientId: string,
  page: {
    matches: readonly ServedResource[];
    included?: readonly ServedResource[];
    withProvenance: boolean;
    subset?: Subset;
  },
): Entry[] {
  const { matches, included = [], withProvenance, subset } = page;
  const provenances = withProvenance
    ? matches
        .map((match) => servedProvenance(match, patientId))
        .filter((each) => each !== undefined)
    : [];
  return [
    ...matches.map(({ json }) =>
      searchEntry(base, subset === undefined ? json : subsetOf(json, subset), {
        mode: 'match',
      }),
    ),
    ...[...included.map(({ json }) => json), ...provenances].map((json) =>
      searchEntry(base, json, { mode: 'include' }),
    ),
  ];
}

export function searchsetOf(
  of: { meta?: Json; links: readonly BundleLink[]; total?: number },
  entries: readonly Entry[],
  issues: readonly OperationOutcomeIssue[],
): Json {
  const outcome: Entry[] =
    issues.length === 0
      ? []
      : [
          {
            resource: { resourceType: 'OperationOutcome', issue: issues },
            search: { mode: 'outcome' },
          },
        ];
  const all = [...entries, ...outcome];
  return {
    resourceType: 'Bundle',
    ...(of.meta && { meta: of.meta }),
    type: 'searchset',
    timestamp: new Date().toISOString(),
    ...(of.total !== undefined && { total: of.total }),
    link: of.links,
    // FHIR forbids empty arrays.
    ...(all.length > 0 && { entry: all }),
  };
}

/** What a search left out of account, and that the record is incomplete. */
export const searchIssues = (
  ignored: readonly string[],
  incomplete: string | undefined,
): OperationOutcomeIssue[] => [
  ...[...new Set(ignored)].map(
    (name): OperationOutcomeIssue => ({
      severity: 'warning',
      code: 'not-supported',
      diagnostics: `The parameter ${name} is not supported and was ignored`,
    }),
  ),
  ...(incomplete === undefined
    ? []
    : [
        {
          severity: 'warning',
          code: 'incomplete',
          diagnostics: incomplete,
        } satisfies OperationOutcomeIssue,
      ]),
];

/** What a page did not include, and how to get it. */
export const leftOutIssues = (leftOut: number): OperationOutcomeIssue[] =>
  leftOut === 0
    ? []
    : [
        {
          severity: 'warning',
          code: 'too-costly',
          diagnostics: `${leftOut} of the resources to be included are left out: one answer includes at most ${INCLUDED_MAX}, fewer if they are large. Ask for fewer matches (_count, _id), or read the others by their ids.`,
        },
      ];

/** Where the next page of a search begins, with the search itself. */
export interface PageCursor<Place> {
  /** The path below `/fhir/R4/` that it belongs to. */
  path: string;
  pairs: readonly SearchPair[];
  place: Place;
}

const VALID_FOR = '1 day';

/**
 * Cursors are encrypted: a search may have been sent by POST to keep a name or
 * an identifier out of URLs, and the link to its next page is a URL.
 */
export function createPageCursors(linkSigningKey: string) {
  const key = createHmac('sha256', linkSigningKey)
    .update('fhir page cursors')
    .digest();
  return {
    write: <Place>({
      path,
      pairs,
      place,
    }: PageCursor<Place>): Promise<string> =>
      new EncryptJWT({ pairs, place })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(path)
        .setExpirationTime(VALID_FOR)
        .encrypt(key),
    /**
     * @throws InvalidRequestError when we did not issue it for this path, or it
     *   has expired
     */
    async read<Place>(path: string, text: string): Promise<PageCursor<Place>> {
      try {
        const { payload } = await jwtDecrypt<Omit<PageCursor<Place>, 'path'>>(
          text,
          key,
          { audience: path },
        );
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

/** Accepts forms of a search by POST, and FHIR resources. */
export function acceptFhirBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_, body, done) => done(null, new URLSearchParams(body)),
  );
  const types = ['application/fhir+json', 'application/json'];
  app.addContentTypeParser<Buffer>(
    types,
    { parseAs: 'buffer' },
    jsonParser(app),
  );
  app.addContentTypeParser<Buffer>(
    '*',
    { parseAs: 'buffer' },
    (_, body, done) => {
      if (body.length === 0) done(null, undefined);
      else
        done(
          new ExchangeError(
            415,
            'Content-Type must be application/fhir+json, or a form for a search',
          ),
        );
    },
  );
}
