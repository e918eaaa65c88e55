import type { OperationOutcomeIssue } from 'fhir/r4.js';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import type { Json } from '../../records/rules/json.ts';
import { type Subset, subsetOf } from './rules/subset.ts';
import { INCLUDED_MAX } from './search-record.ts';
import { type ServedResource, servedProvenance } from './served-resources.ts';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

export interface BundleLink {
  relation: 'self' | 'next';
  url: string;
}

interface Entry {
  fullUrl?: string;
  resource: Json;
  search: { mode: 'match' | 'include' | 'outcome'; score?: number; extension?: Json[] };
}

export const entryOf = (base: string, resource: Json, search: Entry['search']): Entry => ({
  fullUrl: `${base}/${String(resource.resourceType)}/${String(resource.id)}`,
  resource: withAddressesAt(base, resource),
  search,
});

/** The entries of matches and what is included with them, each resource once. */
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
    ? matches.map((match) => servedProvenance(match, patientId)).filter((each) => each !== undefined)
    : [];
  return [
    ...matches.map(({ json }) =>
      entryOf(base, subset === undefined ? json : subsetOf(json, subset), { mode: 'match' }),
    ),
    ...[...included.map(({ json }) => json), ...provenances].map((json) =>
      entryOf(base, json, { mode: 'include' }),
    ),
  ];
}

export function searchset(
  of: { meta?: Json; links: readonly BundleLink[]; total?: number },
  entries: readonly Entry[],
  issues: readonly OperationOutcomeIssue[],
): Json {
  const outcome: Entry[] =
    issues.length === 0
      ? []
      : [{ resource: { resourceType: 'OperationOutcome', issue: issues }, search: { mode: 'outcome' } }];
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
    : [{ severity: 'warning', code: 'incomplete', diagnostics: incomplete } satisfies OperationOutcomeIssue]),
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
