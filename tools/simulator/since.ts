import type { FhirResource } from 'fhir/r4.js';
import { nameOf } from './data/corrections.ts';
import type { Call } from './source.ts';

/** When the sources stored the samples. */
const SAMPLES_STORED_AT = '2026-01-01T00:00:00.000Z';

/** The time of `_since`, or of `_lastUpdated=gt…`; undefined without one. */
export function requestedSince({ params }: Call): string | undefined {
  const since = params.get('_since') ?? params.get('_lastUpdated')?.replace(/^gt/, '');
  return since !== undefined && since !== null && !Number.isNaN(Date.parse(since)) ? since : undefined;
}

/** What of these resources a request for changes gets, with the times at which they were stored. */
export function changedSince(
  { source }: Call,
  resources: readonly FhirResource[],
  since: string | undefined,
): FhirResource[] {
  const { changes } = source.settings();
  if (changes === 'untimed') return [...resources];
  const timed = resources.map((resource) => ({
    ...resource,
    meta: { ...resource.meta, lastUpdated: source.data.changedAt(nameOf(resource)) ?? SAMPLES_STORED_AT },
  }));
  if (since === undefined || changes === 'ignored') return timed;
  if (changes === 'nothing') return [];
  const sinceMs = Date.parse(since);
  const newer = timed.filter(({ meta }) => Date.parse(meta.lastUpdated) > sinceMs);
  // It keeps to the time only where there is little to leave out.
  if (changes === 'older-too') return sinceMs > Date.now() || timed.length < 2 ? newer : timed;
  return newer;
}
