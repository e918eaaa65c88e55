import { rangeOf } from '#record-summary/fhir';
import {
  type Found,
  matchesSearch,
  parseSearch,
  type SearchFault,
  type SearchPair,
  type SearchRequest,
  valuesOf,
} from '../../fhir-api/rules/search-request.ts';
import { OWN_TYPES } from './view-run.ts';

export type ExportFileKind = 'output' | 'deleted' | 'error';

/** Searches by resource type; a resource of the type must match one of them. */
export type TypeFilters = Record<string, string[]>;

/** The parameters of a kick-off. */
export interface ExportRequest {
  types?: string[];
  typeFilters: TypeFilters;
  /** Instant in UTC. */
  since?: string;
  /** Parameters that are not supported. */
  ignored: string[];
}

const FORMATS = new Set([
  'application/fhir+ndjson',
  'application/ndjson',
  'ndjson',
]);
/**
 * Search parameters that choose nothing (Bulk Data Access forbids them in
 * `_typeFilter`).
 */
const OF_RESULTS = new Set([
  '_count',
  '_sort',
  '_summary',
  '_elements',
  '_include',
  '_revinclude',
]);
const PAIRS_MAX = 50;
const FILTERS_MAX = 50;
/**
 * Of all `_typeFilter` together: each of its codes is compared with each
 * resource of its type.
 */
const FILTERS_TEXT_MAX = 10_000;

/** Parses the parameters of `$export`. `isServed` says which types exist. */
export function parseExport(
  pairs: readonly SearchPair[],
  isServed: (type: string) => boolean,
): { request: ExportRequest; faults: SearchFault[] } {
  const request: ExportRequest = { typeFilters: {}, ignored: [] };
  const faults: SearchFault[] = [];
  if (pairs.length > PAIRS_MAX)
    faults.push({
      parameter: '',
      message: `has at most ${PAIRS_MAX} parameters`,
    });
  const filters = pairs.filter(([name]) => name === '_typeFilter');
  const length = filters.reduce((sum, [, value]) => sum + value.length, 0);
  if (length > FILTERS_TEXT_MAX) {
    const message = `has at most ${FILTERS_TEXT_MAX} characters in all`;
    return { request, faults: [{ parameter: '_typeFilter', message }] };
  }
  for (const [name, value] of pairs.slice(0, PAIRS_MAX)) {
    const fault = readPair(request, name, value, isServed);
    if (fault !== undefined) faults.push({ parameter: name, message: fault });
  }
  const unwanted = Object.keys(request.typeFilters).find(
    (type) => request.types?.includes(type) === false,
  );
  if (unwanted !== undefined)
    faults.push({
      parameter: '_typeFilter',
      message: `${unwanted} is not among the types of _type`,
    });
  return { request, faults };
}

function readPair(
  request: ExportRequest,
  name: string,
  value: string,
  isServed: (type: string) => boolean,
): string | undefined {
  switch (name) {
    case '_type': {
      const types = valuesOf(value);
      if (!types.every(isServed))
        return 'contains a type that is not served here; see /fhir/R4/metadata';
      request.types = [...new Set([...(request.types ?? []), ...types])].sort();
      return undefined;
    }
    case '_since': {
      const range = rangeOf(value.replace(' ', '+'));
      request.since = range?.from;
      return range === undefined
        ? 'is not an instant such as 2026-05-01T12:00:00Z'
        : undefined;
    }
    case '_outputFormat':
      return FORMATS.has(value) ? undefined : 'must be application/fhir+ndjson';
    case '_typeFilter':
      return readTypeFilters(request, value, isServed);
    default:
      request.ignored.push(name);
      return undefined;
  }
}

function readTypeFilters(
  request: ExportRequest,
  value: string,
  isServed: (type: string) => boolean,
): string | undefined {
  // Several filters may be in one parameter, separated by commas; each begins
  // with a type.
  for (const filter of value.split(/,(?=[A-Z][A-Za-z]+\?)/)) {
    const [type = '', query = ''] = filter.split(/\?(.*)/s);
    if (!isServed(type) || type === 'Patient')
      return 'is not <Type>?<search> with a type that can be searched';
    const { request: search, faults } = parseSearch(type, [
      ...new URLSearchParams(query),
    ]);
    const [fault] = faults;
    if (fault !== undefined)
      return `${type}: ${fault.parameter} ${fault.message}`;
    if (search.ignored.length > 0)
      return `${type}: ${search.ignored.join(', ')} is not supported`;
    const ofResult = search.used.find(([name]) => OF_RESULTS.has(name));
    if (ofResult !== undefined)
      return `${type}: ${ofResult[0]} is about the form of a search's result`;
    request.typeFilters[type] = [...(request.typeFilters[type] ?? []), query];
    if (request.typeFilters[type].length > FILTERS_MAX)
      return `has at most ${FILTERS_MAX} searches of a type`;
  }
  return undefined;
}

/** Which resources an export contains. */
export interface ResourceFilter {
  /**
   * The types to read; undefined: all. The Provenance of everything is
   * generated from what is read.
   */
  readTypes?: readonly string[];
  /** Types of our own, which only views name. */
  ownTypes: readonly string[];
  hasType(type: string): boolean;
  matches(
    resource: { resourceType: string } & Found,
    patientId: string,
  ): boolean;
}

export function resourceFilter(
  types: readonly string[] | null,
  typeFilters: TypeFilters,
): ResourceFilter {
  const searches = new Map(
    Object.entries(typeFilters).map(([type, queries]) => [
      type,
      queries.map(
        (query) => parseSearch(type, [...new URLSearchParams(query)]).request,
      ),
    ]),
  );
  const hasType = (type: string) => types === null || types.includes(type);
  return {
    ownTypes: (types ?? []).filter((type) => OWN_TYPES.includes(type)),
    readTypes:
      types === null || types.includes('Provenance') ? undefined : types,
    hasType,
    matches(resource, patientId) {
      const alternatives = searches.get(resource.resourceType);
      const fits = (search: SearchRequest) =>
        (search.patientId ?? patientId) === patientId &&
        matchesSearch(resource, search);
      return (
        hasType(resource.resourceType) && alternatives?.some(fits) !== false
      );
    },
  };
}
