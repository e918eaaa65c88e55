import type { SourceType } from '../../../../contract/primitives.ts';
import { badResponse, isRecord, issueCodeOf } from '../http/failures.ts';
import type { JsonResponse } from '../http/source-http.ts';
import { addressOf, type ResolvedSourceConfig } from '../source-config.ts';
import type { ResponseEntry } from './fetched-part.ts';

export interface Bundle {
  entries: ResponseEntry[];
  /** The link to the next page as the source wrote it, absolute or relative. */
  next?: string;
  total?: number;
}

/** @throws SourceFailure `bad-answer` when the response is not a Bundle */
export function bundleOf(source: SourceType, label: string, response: JsonResponse): Bundle {
  const { json } = response;
  if (json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(json);
    throw badResponse(
      source,
      `answered ${label} with an OperationOutcome${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (json.resourceType !== 'Bundle')
    throw badResponse(source, `answered ${label} with something other than a Bundle`);
  const entry = json.entry ?? [];
  const link = json.link ?? [];
  if (!Array.isArray(entry) || !Array.isArray(link))
    throw badResponse(source, `answered ${label} with a broken Bundle`);
  return {
    entries: json.type === 'history' ? newestOf(entry.map(entryOf)) : entry.map(entryOf),
    next: (link as unknown[]).map(nextLinkOf).find((url) => url !== undefined),
    total: typeof json.total === 'number' ? json.total : undefined,
  };
}

export function entryOf(entry: unknown): ResponseEntry {
  if (!isRecord(entry)) return { resource: undefined };
  const deleted = deletedBy(entry);
  const outcome = isRecord(entry.response) ? entry.response.outcome : undefined;
  return {
    resource: deleted === undefined ? (entry.resource ?? outcome) : undefined,
    ...(typeof entry.fullUrl === 'string' ? { fullUrl: entry.fullUrl } : {}),
    ...(deleted === undefined ? {} : { deleted }),
  };
}

/** The address of the deleted resource, when the entry (of a history or a list of deletions) reports a deletion. */
function deletedBy({ request, response, resource, fullUrl }: Record<string, unknown>): string | undefined {
  const isDelete = isRecord(request) && request.method === 'DELETE';
  const isGone = resource === undefined && isRecord(response) && String(response.status).startsWith('410');
  if (!isDelete && !isGone) return undefined;
  const url = isRecord(request) ? request.url : undefined;
  return [url, fullUrl].find((address) => typeof address === 'string');
}

/** Keeps the newest version of each resource of a history; FHIR lists the newest first. */
function newestOf(entries: ResponseEntry[]): ResponseEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ deleted, resource, fullUrl }) => {
    const name =
      deleted ?? (isRecord(resource) ? `${String(resource.resourceType)}/${String(resource.id)}` : fullUrl);
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
 * Resolves a link to an absolute URL: `/x` and `?x` against the page that contains it, `Patient/x` against the FHIR base
 * URL. Returns undefined when the result is not a valid URL.
 */
export function resolveLink(config: ResolvedSourceConfig, link: string, page: URL): URL | undefined {
  const against = link.startsWith('/') || link.startsWith('?') ? page : config.baseUrl;
  if (link === '' || !URL.canParse(link, against.href)) return undefined;
  return addressOf(config, new URL(link, against.href));
}
