import type { NetworkQueryRequestInput } from '../../../contract/network-query.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../contract/source-types.ts';

type RequestedSources = NetworkQueryRequestInput['sources'];

/**
 * The sources that a request enables, in the order hie, pharmacy, lab. Accepts
 * both forms of `sources` (list, object).
 */
export function requestedTypes(sources: RequestedSources): SourceType[] {
  if (Array.isArray(sources))
    return SOURCE_TYPES.filter((type) => sources.includes(type));
  return SOURCE_TYPES.filter((type) => sources[type]?.enabled === true);
}

/** Reduces a request to the given sources, keeping their options. */
export function onlySources(
  sources: RequestedSources,
  types: readonly SourceType[],
): RequestedSources {
  if (Array.isArray(sources))
    return sources.filter((type) => types.includes(type));
  return Object.fromEntries(
    types.map((type) => [type, sources[type] ?? { enabled: true }]),
  );
}
