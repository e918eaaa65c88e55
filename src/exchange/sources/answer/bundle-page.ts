import { badAnswer, failureOfRest, isRecord } from '../http/failures.ts';
import { type JsonAnswer, readError } from '../http/source-http.ts';
import { isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { bundleOf, resolveLink } from './bundle.ts';
import type { Fetched } from './fetched.ts';
import { medicationSteps } from './medications.ts';
import { hashOfLink, type StepOf } from './plan.ts';

const FURTHER_PAGE = 'a further page';

interface PageOrigin {
  /** Hashes of the links that led here. */
  seen?: string[];
  /** The type of the search that this is a page of. */
  searchedType?: string;
}

/** What a Bundle brings, the step to its next page, and what its resources refer to. */
export function fetchedBundle(
  context: SourceContext,
  label: string,
  answer: JsonAnswer,
  origin: PageOrigin = {},
): Fetched {
  const { config } = context;
  const bundle = bundleOf(config.source, label, answer);
  const next = bundle.next === undefined ? [] : [nextStep(context, bundle.next, answer.url, origin)];
  return {
    entries: bundle.entries,
    raw: { bytes: answer.bytes, contentType: answer.contentType },
    rawWithout: (strays) => Buffer.from(JSON.stringify(withoutEntries(answer.json, strays))),
    next: [...next, ...medicationSteps(origin.searchedType, bundle.entries)],
    isSearch: origin.searchedType !== undefined,
  };
}

export async function fetchLink(
  context: SourceContext,
  step: StepOf<'link'>,
  signal: AbortSignal,
): Promise<Fetched> {
  const url = new URL(step.url);
  const { config, http } = context;
  const answer = await http.send({ method: 'GET', url, label: FURTHER_PAGE, signal });
  if (answer.status !== 200) throw failureOfRest(config.source, FURTHER_PAGE, await readError(answer));
  return fetchedBundle(context, FURTHER_PAGE, await http.readJson(answer, FURTHER_PAGE), step);
}

function nextStep(
  { config }: SourceContext,
  link: string,
  page: URL,
  { seen = [], searchedType }: PageOrigin,
): StepOf<'link'> {
  const url = resolveLink(link, page, config.baseUrl);
  if (url === undefined) throw badAnswer(config.source, 'gave a next link that is no address');
  if (!isAllowedUrl(config, url)) {
    throw badAnswer(config.source, `linked to ${url.origin}, which is not one of its configured origins`);
  }
  const hash = hashOfLink(url);
  const before = seen.length === 0 ? [hashOfLink(page)] : seen;
  if (before.includes(hash))
    throw badAnswer(config.source, 'gave the same next link twice: its pages go in a circle');
  return { kind: 'link', url: url.href, seen: [...before, hash], searchedType };
}

/** A Bundle without some entries, Bundles inside it included. */
function withoutEntries(
  json: Record<string, unknown>,
  strays: ReadonlySet<unknown>,
): Record<string, unknown> {
  if (!Array.isArray(json.entry)) return json;
  const entries: unknown[] = json.entry;
  const kept = entries.flatMap((entry): unknown[] => {
    if (!isRecord(entry)) return [];
    if (strays.has(entry.resource)) return [];
    const { resource } = entry;
    const isBundle = isRecord(resource) && resource.resourceType === 'Bundle';
    return [isBundle ? { ...entry, resource: withoutEntries(resource, strays) } : entry];
  });
  return { ...json, entry: kept };
}
