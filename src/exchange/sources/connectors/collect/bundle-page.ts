import { badResponse, failureOfRest, foreignOrigin, isRecord } from '../http/failures.ts';
import { type JsonResponse, readError } from '../http/source-http.ts';
import { isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { bundleOf, resolveLink } from './bundle.ts';
import type { FetchedPart } from './fetched-part.ts';
import { medicationSteps } from './medications.ts';
import { hashOfLink, type StepOf } from './plan.ts';

const FURTHER_PAGE = 'a further page';

interface PageTrail {
  /** Hashes of the links already followed, to detect loops. */
  seen?: string[];
  /** The resource type searched for, when this is a page of a search. */
  searchedType?: string;
  /** `_count` of this page, if it is smaller than configured. */
  count?: number;
  /** The request whose pages these are. */
  origin?: StepOf<'everything'> | StepOf<'search'>;
}

/** Reads a Bundle: its entries, and steps for its next page and for the Medications that its entries refer to. */
export function fetchedBundle(
  context: SourceContext,
  label: string,
  response: JsonResponse,
  trail: PageTrail = {},
): FetchedPart {
  const { config } = context;
  const bundle = bundleOf(config.source, label, response);
  const next = bundle.next === undefined ? [] : [nextStep(context, bundle.next, response.url, trail)];
  return {
    entries: bundle.entries,
    raw: { bytes: response.bytes, contentType: response.contentType },
    rawWithout: (misattributed) => Buffer.from(JSON.stringify(withoutEntries(response.json, misattributed))),
    next: [...next, ...medicationSteps(trail.searchedType, bundle.entries)],
    isSearch: trail.searchedType !== undefined,
  };
}

export async function fetchLink(
  context: SourceContext,
  step: StepOf<'link'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const url = new URL(step.url);
  const { config, http } = context;
  const response = await http.send({
    method: 'GET',
    url,
    label: FURTHER_PAGE,
    keepsBeginning: step.count === 1,
    signal,
  });
  if (response.status !== 200) throw failureOfRest(config.source, FURTHER_PAGE, await readError(response));
  return fetchedBundle(context, FURTHER_PAGE, await http.readJson(response, FURTHER_PAGE), step);
}

export function nextStep(
  { config }: SourceContext,
  link: string,
  page: URL,
  { seen = [], searchedType, count, origin }: PageTrail,
): StepOf<'link'> {
  const url = resolveLink(config, link, page);
  if (url === undefined) throw badResponse(config.source, 'returned a next link that is not a valid URL');
  if (!isAllowedUrl(config, url)) throw foreignOrigin(config, 'linked to', url);
  const hash = hashOfLink(url);
  const before = seen.length === 0 ? [hashOfLink(page)] : seen;
  if (before.includes(hash))
    throw badResponse(config.source, 'returned the same next link twice: its pages form a loop');
  const followed = [...before, hash];
  const step: StepOf<'link'> = { kind: 'link', url: url.href, seen: followed, searchedType, origin };
  return count === undefined ? step : grown(step, count, config.pageSize);
}

/** The page size grows again after a page that fitted, so that one large resource does not make all later pages small. */
function grown(step: StepOf<'link'>, count: number, pageSize: number): StepOf<'link'> {
  const larger = Math.min(count * 2, pageSize);
  return { ...withCount(step, larger), count: larger < pageSize ? larger : undefined };
}

/** The link with another `_count`, if it has one. */
export function withCount(step: StepOf<'link'>, count: number): StepOf<'link'> {
  const url = new URL(step.url);
  if (url.searchParams.has('_count')) url.searchParams.set('_count', String(count));
  return { ...step, url: url.href, count };
}

/** A copy of the Bundle, and of Bundles nested in it, without the given resources. */
function withoutEntries(
  json: Record<string, unknown>,
  misattributed: ReadonlySet<unknown>,
): Record<string, unknown> {
  if (!Array.isArray(json.entry)) return json;
  const entries: unknown[] = json.entry;
  const kept = entries.flatMap((entry): unknown[] => {
    if (!isRecord(entry)) return [];
    if (misattributed.has(entry.resource)) return [];
    const { resource } = entry;
    const isBundle = isRecord(resource) && resource.resourceType === 'Bundle';
    return [isBundle ? { ...entry, resource: withoutEntries(resource, misattributed) } : entry];
  });
  return { ...json, entry: kept };
}
