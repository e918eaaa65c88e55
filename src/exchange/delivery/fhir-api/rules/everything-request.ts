import { rangeOf } from '../../../records/rules/dates.ts';
import { CLINICAL_TYPES, SUPPORTING_TYPES } from '../../../records/rules/resource-types.ts';
import { boundFaults, COUNT_MAX, type SearchFault, type SearchPair, valuesOf } from './search-request.ts';

/** The parameters of `$everything`. */
export interface EverythingRequest {
  types?: string[];
  dateFrom?: string;
  dateTo?: string;
  /** Instant in UTC. */
  since?: string;
  count?: number;
  ignored: string[];
}

export function parseEverything(pairs: readonly SearchPair[]): {
  request: EverythingRequest;
  faults: SearchFault[];
} {
  const request: EverythingRequest = { ignored: [] };
  const faults = boundFaults(pairs);
  if (faults.length > 0) return { request, faults };
  for (const [name, value] of pairs) {
    const fault = readPair(request, name, value);
    if (fault !== undefined) faults.push({ parameter: name, message: fault });
  }
  return { request, faults };
}

function readPair(request: EverythingRequest, name: string, value: string): string | undefined {
  const range = rangeOf(value.replace(' ', '+'));
  switch (name) {
    case '_type': {
      request.types = valuesOf(value);
      const unknown = request.types.find((type) => !CLINICAL_TYPES.has(type) && !SUPPORTING_TYPES.has(type));
      return unknown === undefined ? undefined : 'contains a type that is not served here';
    }
    case 'start':
      request.dateFrom = range?.firstDay;
      return range === undefined ? NOT_A_DATE : undefined;
    case 'end':
      request.dateTo = range?.lastDay;
      return range === undefined ? NOT_A_DATE : undefined;
    case '_since':
      request.since = range?.from;
      return range === undefined ? NOT_A_DATE : undefined;
    case '_count': {
      const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
      request.count = Math.min(count, COUNT_MAX);
      return count < 1 ? 'is not a number from 1 on' : undefined;
    }
    case '_format':
    case '_pretty':
      return undefined;
    default:
      request.ignored.push(name);
      return undefined;
  }
}

const NOT_A_DATE = 'is not a date such as 2026-05-01 or 2026-05-01T12:00:00Z';
