import type { NetworkQueryRequestInput } from '../../../contract/network-query.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/source-types.ts';

type RequestedSources = NetworkQueryRequestInput['sources'];

/** The sources that a request enables, in the order hie, pharmacy, lab; both forms of `sources`. */
export function requestedTypes(sources: RequestedSources): SourceType[] {
  if (Array.isArray(sources)) return SOURCE_TYPES.filter((type) => sources.includes(type));
  return SOURCE_TYPES.filter((type) => sources[type]?.enabled === true);
}

/** The same request for some of its sources only; their options stay. */
export function onlySources(sources: RequestedSources, types: readonly SourceType[]): RequestedSources {
  if (Array.isArray(sources)) return sources.filter((type) => types.includes(type));
  return Object.fromEntries(types.map((type) => [type, sources[type] ?? { enabled: true }]));
}
