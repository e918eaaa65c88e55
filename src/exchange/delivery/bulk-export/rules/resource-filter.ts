import { rangeOf } from '../../../records/rules/dates.ts';
import type { Json } from '../../../records/rules/json.ts';
import { matchesAll, matchesDate, searchEntries } from '../../../records/rules/search.ts';
import { parseSearch } from '../../fhir-api/rules/search-request.ts';
import { pairsOfQuery, type TypeFilters } from './export-request.ts';

/** Which resources an export contains. */
export interface ResourceFilter {
  /** The types to read; undefined: all. The Provenance of everything is generated from what is read. */
  readTypes?: readonly string[];
  hasType(type: string): boolean;
  matches(type: string, json: Json, changedAt: Date): boolean;
}

export function resourceFilter(types: readonly string[] | null, typeFilters: TypeFilters): ResourceFilter {
  const searches = new Map(
    Object.entries(typeFilters).map(([type, queries]) => [
      type,
      queries.map((query) => parseSearch(type, pairsOfQuery(query)).request),
    ]),
  );
  const hasType = (type: string) => types === null || types.includes(type);
  return {
    readTypes: types === null || types.includes('Provenance') ? undefined : types,
    hasType,
    matches(type, json, changedAt) {
      const alternatives = searches.get(type);
      if (!hasType(type)) return false;
      if (alternatives === undefined) return true;
      const [entries, time] = [searchEntries(json), rangeOf(changedAt.toISOString())];
      return alternatives.some(
        ({ clauses, lastUpdated }) =>
          matchesAll(entries, clauses) &&
          lastUpdated.every((conditions) =>
            conditions.some((condition) => time !== undefined && matchesDate(condition, time)),
          ),
      );
    },
  };
}
