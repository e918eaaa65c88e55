import type { SourceType } from '../../../../contract/primitives.ts';
import { counted } from '../../../../lib/counted.ts';
import type { SourceContext } from '../capabilities.ts';
import type { Reported } from '../connector.ts';
import {
  badResponse,
  failureOfRest,
  foreignOrigin,
  ISSUE_CODES,
  isRecord,
  issueCodeOf,
} from '../http/failures.ts';
import { type JsonResponse, readError } from '../http/source-http.ts';
import {
  addressOf,
  isAllowedUrl,
  type ResolvedSourceConfig,
} from '../source-config.ts';
import { medicationSteps } from './medications.ts';
import {
  type FetchedPart,
  hashOfLink,
  type ResponseEntry,
  type StepOf,
} from './plan.ts';
import { countResults, missingByTotal } from './stated-total.ts';
import { isResourceId } from './subjects.ts';

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
  /**
   * Its results before this page (`countResults`): none for the first one.
   * Undefined: they are not counted.
   */
  counted?: string[];
}

/**
 * Reads a Bundle: its entries, and steps for its next page and for the
 * Medications that its entries refer to.
 */
export function fetchedBundle(
  context: SourceContext,
  label: string,
  response: JsonResponse,
  trail: PageTrail = {},
): FetchedPart {
  const { config } = context;
  const bundle = bundleOf(config.source, label, response);
  const { searchedType } = trail;
  const counted = countResults(trail.counted, bundle.entries);
  const next =
    bundle.next === undefined
      ? []
      : [nextStep(context, bundle.next, response.url, { ...trail, counted })];
  return {
    entries: bundle.entries,
    raw: { bytes: response.bytes, contentType: response.contentType },
    rawWithout: (misattributed) =>
      Buffer.from(JSON.stringify(withoutEntries(response.json, misattributed))),
    next: [...next, ...medicationSteps(searchedType, bundle.entries)],
    isSearch: searchedType !== undefined,
    missing: missingByTotal(bundle, counted, searchedType),
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
  if (response.status !== 200)
    throw failureOfRest(config.source, FURTHER_PAGE, await readError(response));
  return fetchedBundle(
    context,
    FURTHER_PAGE,
    await http.readJson(response, FURTHER_PAGE),
    step,
  );
}

export function nextStep(
  { config }: SourceContext,
  link: string,
  page: URL,
  { seen = [], searchedType, count, origin, counted }: PageTrail,
): StepOf<'link'> {
  const url = resolveLink(config, link, page);
  if (url === undefined)
    throw badResponse(
      config.source,
      'returned a next link that is not a valid URL',
    );
  if (!isAllowedUrl(config, url)) throw foreignOrigin(config, 'linked to', url);
  const hash = hashOfLink(url);
  const before = seen.length === 0 ? [hashOfLink(page)] : seen;
  if (before.includes(hash))
    throw badResponse(
      config.source,
      'returned the same next link twice: its pages form a loop',
    );
  const step: StepOf<'link'> = {
    kind: 'link',
    url: url.href,
    seen: withSeen(before, hash),
    searchedType,
    origin,
    counted,
  };
  return count === undefined ? step : grown(step, count, config.pageSize);
}

/**
 * The first half and the last half of what may be remembered: the cursor is
 * stored with each page. A longer loop that begins in between ends by the bytes
 * of its pages.
 */
const SEEN_MAX = 1_000;

const withSeen = (before: readonly string[], hash: string): string[] =>
  before.length < SEEN_MAX
    ? [...before, hash]
    : [...before.toSpliced(SEEN_MAX / 2, 1), hash];

/**
 * The page size grows again after a page that fitted, so that one large
 * resource does not make all later pages small.
 */
function grown(
  step: StepOf<'link'>,
  count: number,
  pageSize: number,
): StepOf<'link'> {
  const larger = Math.min(count * 2, pageSize);
  return {
    ...withCount(step, larger),
    count: larger < pageSize ? larger : undefined,
  };
}

/** The link with another `_count`, if it has one. */
export function withCount(step: StepOf<'link'>, count: number): StepOf<'link'> {
  const url = new URL(step.url);
  if (url.searchParams.has('_count'))
    url.searchParams.set('_count', String(count));
  return { ...step, url: url.href, count };
}

/**
 * A copy of the Bundle, and of Bundles nested in it, without the given
 * resources.
 */
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
    return [
      isBundle
        ? { ...entry, resource: withoutEntries(resource, misattributed) }
        : entry,
    ];
  });
  return { ...json, entry: kept };
}

/**
 * Issue codes that say that something is missing, however severe the source
 * calls it.
 */
const MISSING = new Set([
  'incomplete',
  'timeout',
  'throttled',
  'too-costly',
  'suppressed',
  'no-store',
]);
const NAMED_MAX = 10;

/**
 * What a source reports in the OperationOutcomes of an answer: errors leave a
 * gap in the record, warnings do not. Only severities and codes of FHIR are
 * repeated, because texts may name the patient.
 */
export function reportedIn(entries: readonly ResponseEntry[]): Reported {
  const gaps = new Set<string>();
  const warnings = new Set<string>();
  for (const { resource } of entries) {
    if (!isRecord(resource) || resource.resourceType !== 'OperationOutcome')
      continue;
    const issues: unknown[] = Array.isArray(resource.issue)
      ? resource.issue
      : [];
    for (const issue of issues.filter(isRecord)) {
      const code =
        typeof issue.code === 'string' && ISSUE_CODES.has(issue.code)
          ? issue.code
          : 'unknown';
      if (issue.severity === 'information' && !MISSING.has(code)) continue;
      if (issue.severity === 'warning' && !MISSING.has(code))
        warnings.add(`a warning (${code})`);
      else
        gaps.add(
          issue.severity === 'warning' || issue.severity === 'information'
            ? code
            : `an error (${code})`,
        );
    }
  }
  const said = (words: Set<string>) =>
    words.size === 0 ? [] : [`the source reports ${[...words].join(', ')}`];
  return { gaps: said(gaps), warnings: said(warnings) };
}

/** `3 resources without a valid id`, for each reason. */
export const countedGaps = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].map(
    ([reason, count]) => `${counted(count, 'resource')} ${reason}`,
  );

/** `Condition, Observation and 3 more`. */
export function namesOf(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return more > 0
    ? `${names.slice(0, NAMED_MAX).join(', ')} and ${more} more`
    : names.join(', ');
}

export const joinedReports = (...parts: readonly Reported[]): Reported => ({
  gaps: parts.flatMap(({ gaps }) => gaps),
  warnings: parts.flatMap(({ warnings }) => warnings),
});

/**
 * Rewrites references to `Type/id` where they can be resolved: the fullUrl of
 * another entry (`urn:uuid:…` or absolute), or what `elsewhere` knows, such as
 * a URL at one of the source's own origins. fullUrls are known only within one
 * response, so this runs before its resources are stored one by one. Resources
 * without such references are returned unchanged.
 */
export function withLocalReferences<R extends Record<string, unknown>>(
  elsewhere: (reference: string) => string | undefined,
  entries: readonly ResponseEntry[],
  resources: readonly R[],
): R[] {
  const named = new Map<string, string>();
  for (const { fullUrl, resource } of entries) {
    if (
      fullUrl === undefined ||
      !isRecord(resource) ||
      !isResourceId(resource.id)
    )
      continue;
    named.set(fullUrl, `${String(resource.resourceType)}/${resource.id}`);
  }
  const locate = (reference: string) =>
    named.get(reference) ?? elsewhere(reference);
  return resources.map((resource) => located(resource, locate) as R);
}

/**
 * The `Type/id` part of a URL at one of the source's own origins; undefined for
 * any other reference.
 */
export function localReferenceOf(
  config: ResolvedSourceConfig,
  reference: string,
): string | undefined {
  const match =
    /^https?:\/\/[^?#]+\/([A-Z][A-Za-z]+\/[^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(
      reference,
    );
  if (match?.[1] === undefined || !URL.canParse(reference)) return undefined;
  return config.allowedOrigins.has(addressOf(config, new URL(reference)).origin)
    ? match[1]
    : undefined;
}

/** Returns the same object when nothing in it changes. */
function located(
  value: unknown,
  locate: (reference: string) => string | undefined,
): unknown {
  if (Array.isArray(value)) {
    let items: unknown[] = value;
    for (let index = 0; index < value.length; index += 1) {
      const item = located(value[index], locate);
      if (item === value[index]) continue;
      if (items === value) items = [...value];
      items[index] = item;
    }
    return items;
  }
  if (!isRecord(value)) return value;
  let copy = value;
  for (const name in value) {
    const part = value[name];
    const isReference = name === 'reference' && typeof part === 'string';
    const changed = isReference
      ? (locate(part) ?? part)
      : located(part, locate);
    if (changed !== part) copy = { ...copy, [name]: changed };
  }
  return copy;
}

export interface Bundle {
  entries: ResponseEntry[];
  /** The link to the next page as the source wrote it, absolute or relative. */
  next?: string;
  total?: number;
}

/** @throws SourceFailure `bad-answer` when the response is not a Bundle */
export function bundleOf(
  source: SourceType,
  label: string,
  response: JsonResponse,
): Bundle {
  const { json } = response;
  if (json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(json);
    throw badResponse(
      source,
      `answered ${label} with an OperationOutcome${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (json.resourceType !== 'Bundle')
    throw badResponse(
      source,
      `answered ${label} with something other than a Bundle`,
    );
  const entry = json.entry ?? [];
  const link = json.link ?? [];
  if (!Array.isArray(entry) || !Array.isArray(link))
    throw badResponse(source, `answered ${label} with a broken Bundle`);
  return {
    entries:
      json.type === 'history'
        ? newestOf(entry.map(responseEntry))
        : entry.map(responseEntry),
    next: (link as unknown[]).map(nextLinkOf).find((url) => url !== undefined),
    total: typeof json.total === 'number' ? json.total : undefined,
  };
}

export function responseEntry(entry: unknown): ResponseEntry {
  if (!isRecord(entry)) return { resource: undefined };
  const deleted = deletedBy(entry);
  const outcome = isRecord(entry.response) ? entry.response.outcome : undefined;
  return {
    resource: deleted === undefined ? (entry.resource ?? outcome) : undefined,
    ...(typeof entry.fullUrl === 'string' ? { fullUrl: entry.fullUrl } : {}),
    ...(deleted === undefined ? {} : { deleted }),
  };
}

/**
 * The address of the deleted resource, when the entry (of a history or a list
 * of deletions) reports a deletion.
 */
function deletedBy({
  request,
  response,
  resource,
  fullUrl,
}: Record<string, unknown>): string | undefined {
  const isDelete = isRecord(request) && request.method === 'DELETE';
  const isGone =
    resource === undefined &&
    isRecord(response) &&
    String(response.status).startsWith('410');
  if (!isDelete && !isGone) return undefined;
  const url = isRecord(request) ? request.url : undefined;
  return [url, fullUrl].find((address) => typeof address === 'string');
}

/**
 * Keeps the newest version of each resource of a history; FHIR lists the newest
 * first.
 */
function newestOf(entries: ResponseEntry[]): ResponseEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ deleted, resource, fullUrl }) => {
    const name =
      deleted ??
      (isRecord(resource)
        ? `${String(resource.resourceType)}/${String(resource.id)}`
        : fullUrl);
    const key = /([^/]+\/[^/]+?)(?:\/_history\/[^/]+)?$/.exec(name ?? '')?.[1];
    if (key === undefined) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

export function nextLinkOf(link: unknown): string | undefined {
  if (!isRecord(link) || link.relation !== 'next') return undefined;
  return typeof link.url === 'string' ? link.url : '';
}

/**
 * Resolves a link to an absolute URL: `/x` and `?x` against the page that
 * contains it, `Patient/x` against the FHIR base URL. Returns undefined when
 * the result is not a valid URL.
 */
export function resolveLink(
  config: ResolvedSourceConfig,
  link: string,
  page: URL,
): URL | undefined {
  const against =
    link.startsWith('/') || link.startsWith('?') ? page : config.baseUrl;
  if (link === '' || !URL.canParse(link, against.href)) return undefined;
  return addressOf(config, new URL(link, against.href));
}
