import type { BundleEntry, FhirResource } from 'fhir/r4.js';
import { z } from 'zod';
import { resourceName } from './data/corrections.ts';
import type { PatientView } from './data/patient-view.ts';
import {
  okResponse,
  refusalResponse,
  type SimulatedResponse,
  searchsetBundle,
} from './response.ts';
import type { SourceCall } from './source.ts';

const selection = z.object({
  patientId: z.string(),
  /** Only these resource types; default: all. */
  types: z.array(z.string()).optional(),
  /** Only resources with one of these category codes. */
  categories: z.array(z.string()).optional(),
  /** Only resources with this status. */
  status: z.string().optional(),
  /** Only resources stored after this time. */
  since: z.string().optional(),
});
/** Selects resources of a patient. */
export type Selection = z.infer<typeof selection>;

const pageToken = selection.extend({
  count: z.int().min(1),
  offset: z.int().min(0),
});
type PageToken = z.infer<typeof pageToken>;

export function selectResources(
  call: SourceCall,
  view: PatientView,
  { types, categories, status, since }: Selection,
): FhirResource[] {
  const all = [view.patient, ...view.resources].filter(
    (resource) =>
      status === undefined ||
      ('status' in resource && resource.status === status),
  );
  const typed = types
    ? all.filter((resource) => types.includes(resource.resourceType))
    : all;
  const wanted = categories
    ? typed.filter((resource) => hasCategory(resource, categories))
    : typed;
  return changedSince(call, wanted, since);
}

/**
 * First page of a selection. `_count` of the request can only reduce the
 * source's page size.
 */
export function firstPage(
  call: SourceCall,
  wanted: Selection,
  requestedCount?: number,
): SimulatedResponse {
  const count = Math.min(
    requestedCount ?? Number.POSITIVE_INFINITY,
    call.source.settings().pageSize,
  );
  return page(call, { ...wanted, count, offset: 0 });
}

/** The page of a `next` link. */
export function nextPage(call: SourceCall): SimulatedResponse {
  const token = readToken(call.params.get('_getpages'));
  if (!token)
    return refusalResponse(410, 'not-found', 'There is no such page.');
  return page(call, token);
}

/** Id of the Patient that a page belongs to, for rules and the log. */
export const patientOfPage = (call: SourceCall): string | undefined =>
  readToken(call.params.get('_getpages'))?.patientId;

function page(call: SourceCall, token: PageToken): SimulatedResponse {
  const view = call.source.data.view(token.patientId);
  if (!view)
    return refusalResponse(
      404,
      'not-found',
      'There is no Patient with this id.',
    );
  const resources = selectResources(call, view, token);
  if (call.params.get('_summary') === 'count')
    return call.source.settings().changes === 'uncounted'
      ? refusalResponse(400, 'not-supported', '_summary is not supported.')
      : okResponse(searchsetBundle([], { total: resources.length }));
  const end = token.offset + token.count;
  const entries: BundleEntry[] = resources
    .slice(token.offset, end)
    .map((resource) => ({
      fullUrl: `${call.baseUrl}/${resource.resourceType}/${resource.id}`,
      resource,
      search: { mode: 'match' },
    }));
  const next =
    end < resources.length
      ? pageUrl(call, { ...token, offset: end })
      : undefined;
  const selfUrl = `${pageUrl(call, token)}${repeatedTime(call, token)}`;
  return okResponse(
    searchsetBundle(entries, {
      total: resources.length,
      selfUrl,
      nextUrl: next,
    }),
  );
}

/**
 * The link of a page to itself names the time that it was asked for, unless the
 * source ignores it.
 */
function repeatedTime(call: SourceCall, { since }: PageToken): string {
  if (
    since === undefined ||
    ['untimed', 'ignored'].includes(call.source.settings().changes)
  )
    return '';
  const name = call.params.has('_lastUpdated') ? '_lastUpdated' : '_since';
  return `&${name}=${encodeURIComponent(since)}`;
}

const pageUrl = (call: SourceCall, token: PageToken): string =>
  `${call.baseUrl}?_getpages=${Buffer.from(JSON.stringify(token)).toString('base64url')}`;

function readToken(text: string | null): PageToken | undefined {
  if (!text) return undefined;
  try {
    return pageToken.parse(
      JSON.parse(Buffer.from(text, 'base64url').toString('utf8')),
    );
  } catch {
    return undefined;
  }
}

function hasCategory(
  resource: FhirResource,
  codes: readonly string[],
): boolean {
  if (!('category' in resource)) return false;
  const concepts = Array.isArray(resource.category)
    ? resource.category
    : [resource.category];
  return concepts.some((concept) =>
    typeof concept === 'object'
      ? concept?.coding?.some((coding) => codes.includes(coding.code ?? ''))
      : codes.includes(concept ?? ''),
  );
}

/** When the sources stored the samples. */
const SAMPLES_STORED_AT = '2026-01-01T00:00:00.000Z';

/** The time of `_since`, or of `_lastUpdated=gt…`; undefined without one. */
export function requestedSince({ params }: SourceCall): string | undefined {
  const since =
    params.get('_since') ?? params.get('_lastUpdated')?.replace(/^gt/, '');
  return since !== undefined &&
    since !== null &&
    !Number.isNaN(Date.parse(since))
    ? since
    : undefined;
}

/**
 * What of these resources a request for changes gets, with the times at which
 * they were stored.
 */
export function changedSince(
  { source }: SourceCall,
  resources: readonly FhirResource[],
  since: string | undefined,
): FhirResource[] {
  const { changes } = source.settings();
  if (changes === 'untimed') return [...resources];
  const timed = resources.map((resource) => ({
    ...resource,
    meta: {
      ...resource.meta,
      lastUpdated:
        source.data.changedAt(resourceName(resource)) ?? SAMPLES_STORED_AT,
    },
  }));
  if (since === undefined || changes === 'ignored') return timed;
  if (changes === 'nothing') return [];
  const sinceMs = Date.parse(since);
  const newer = timed.filter(
    ({ meta }) => Date.parse(meta.lastUpdated) > sinceMs,
  );
  // It keeps to the time only where there is little to leave out.
  if (changes === 'older-too')
    return sinceMs > Date.now() || timed.length < 2 ? newer : timed;
  return newer;
}
