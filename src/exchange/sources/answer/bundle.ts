import type { SourceType } from '../../../contract/primitives.ts';
import { badAnswer, isRecord, issueCodeOf } from '../http/failures.ts';
import type { JsonAnswer } from '../http/source-http.ts';
import type { Entry } from './entry.ts';

export interface Bundle {
  entries: Entry[];
  /** The next page's link as it stands, absolute or relative. */
  next?: string;
  total?: number;
}

/** Reads a Bundle; anything else in its place is a bad answer. */
export function bundleOf(source: SourceType, label: string, answer: JsonAnswer): Bundle {
  const { json } = answer;
  if (json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(json);
    throw badAnswer(
      source,
      `answered ${label} with an OperationOutcome${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (json.resourceType !== 'Bundle')
    throw badAnswer(source, `answered ${label} with something that is no Bundle`);
  const entry = json.entry ?? [];
  const link = json.link ?? [];
  if (!Array.isArray(entry) || !Array.isArray(link))
    throw badAnswer(source, `answered ${label} with a broken Bundle`);
  return {
    entries: json.type === 'history' ? newestOf(entry.map(entryOf)) : entry.map(entryOf),
    next: (link as unknown[]).map(nextLinkOf).find((url) => url !== undefined),
    total: typeof json.total === 'number' ? json.total : undefined,
  };
}

export function entryOf(entry: unknown): Entry {
  if (!isRecord(entry)) return { resource: undefined };
  const deleted = deletedBy(entry);
  return {
    resource: deleted === undefined ? entry.resource : undefined,
    ...(typeof entry.fullUrl === 'string' ? { fullUrl: entry.fullUrl } : {}),
    ...(deleted === undefined ? {} : { deleted }),
  };
}

/** The address of what a history, or a list of deleted resources, says was deleted. */
function deletedBy({ request, response, resource, fullUrl }: Record<string, unknown>): string | undefined {
  const isDelete = isRecord(request) && request.method === 'DELETE';
  const isGone = resource === undefined && isRecord(response) && String(response.status).startsWith('410');
  if (!isDelete && !isGone) return undefined;
  const url = isRecord(request) ? request.url : undefined;
  return [url, fullUrl].find((address) => typeof address === 'string');
}

/** A history tells the newest version of each resource first, and only that one counts. */
function newestOf(entries: Entry[]): Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ deleted, resource, fullUrl }) => {
    const name =
      deleted ?? (isRecord(resource) ? `${String(resource.resourceType)}/${String(resource.id)}` : fullUrl);
    const key = /[^/]+\/[^/]+$/.exec(name ?? '')?.[0];
    if (key === undefined) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function nextLinkOf(link: unknown): string | undefined {
  if (!isRecord(link) || link.relation !== 'next') return undefined;
  return typeof link.url === 'string' ? link.url : '';
}

/** An absolute address; `/x` and `?x` against the page that names it, `Patient/x` against the base address. */
export function resolveLink(link: string, page: URL, base: URL): URL | undefined {
  const against = link.startsWith('/') || link.startsWith('?') ? page : base;
  return link !== '' && URL.canParse(link, against.href) ? new URL(link, against.href) : undefined;
}
