import { setTimeout as delay } from 'node:timers/promises';
import type { SourceContext } from '../capabilities.ts';
import { SourceFailure } from '../connector.ts';
import { isRecord, ResponseTooLargeError } from '../http/failures.ts';
import { endOfString } from '../http/http-response.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { settingCommand, settingName } from '../source-settings.ts';
import {
  localReferenceOf,
  nextLinkOf,
  nextStep,
  withCount,
} from './bundle-page.ts';
import { emptyPart, type FetchedPart, type Step, type StepOf } from './plan.ts';
import { isResourceId } from './subjects.ts';

type PagedStep = StepOf<'everything'> | StepOf<'search'> | StepOf<'link'>;

export const smallerCount = (count: number): number =>
  Math.max(1, Math.floor(count / 4));

/**
 * Fetches a page. One that is larger than allowed is requested again with fewer
 * resources; a single resource that is larger is left out and named, and the
 * next page is fetched.
 */
export async function withSmallerPages(
  context: SourceContext,
  step: PagedStep,
  fetch: () => Promise<FetchedPart>,
): Promise<FetchedPart> {
  try {
    return await fetch();
  } catch (error) {
    if (!(error instanceof ResponseTooLargeError)) throw error;
    const smaller = smallerStep(context, step);
    return smaller === undefined
      ? leaveOut(context, step, error)
      : emptyPart([smaller]);
  }
}

/**
 * Undefined if the page can be no smaller. A link without `_count` is replaced
 * by its whole request with smaller pages.
 */
function smallerStep(
  { config }: SourceContext,
  step: PagedStep,
): Step | undefined {
  const count = step.count ?? config.pageSize;
  const isOpaque =
    step.kind === 'link' && !new URL(step.url).searchParams.has('_count');
  if (count === 1 && step.count === 1) return undefined;
  if (step.kind !== 'link') return { ...step, count: smallerCount(count) };
  if (!isOpaque) return withCount(step, smallerCount(count));
  return step.origin === undefined
    ? undefined
    : { ...step.origin, count: smallerCount(count) };
}

function leaveOut(
  context: SourceContext,
  step: PagedStep,
  error: ResponseTooLargeError,
): FetchedPart {
  const { config } = context;
  const page = error.page();
  const beginning = beginningOfBundle(config, page.beginning);
  const isRest = step.kind === 'link' || beginning.total === 1;
  // Only a page of one resource shows which one is too large. A server may
  // ignore `_count`.
  if (beginning.entryCount !== 1 || (beginning.next === undefined && !isRest)) {
    const limit = `${settingName(config, 'pageBytesMax')} is the limit${settingCommand(config)}`;
    const advice = `also when asked for one resource; ${limit}`;
    throw new SourceFailure('bad-answer', `${error.message}, ${advice}`);
  }
  // What is left out is said, so the results need not be counted any more.
  const trail =
    step.kind === 'link'
      ? { ...step, counted: undefined }
      : { count: 1, origin: step, ...searchedType(step) };
  const next =
    beginning.next === undefined
      ? []
      : [nextStep(context, beginning.next, page.url, trail)];
  return {
    ...emptyPart(next),
    leftOut: [beginning.name ?? 'a resource without a name'],
  };
}

const searchedType = (step: PagedStep) =>
  step.kind === 'search' ? { searchedType: step.type } : {};

/**
 * What the beginning of a Bundle shows when the whole is too large to be read.
 */
interface BeginningOfBundle {
  /** Entries that begin within it. */
  entryCount: number;
  /** `Type/id` of the first entry. */
  name?: string;
  next?: string;
  total?: number;
}

const QUOTE = 0x22;
const NAME_BYTES_MAX = 4_000;

/**
 * Reads what precedes the entries (the links, by the usual order of members)
 * and counts the entries that begin.
 */
function beginningOfBundle(
  config: ResolvedSourceConfig,
  bytes: Buffer,
): BeginningOfBundle {
  const starts = entryStarts(bytes);
  const first = starts.entries[0];
  const before =
    starts.entryKey === undefined
      ? {}
      : parsed(bytes.subarray(0, starts.entryKey));
  const links: unknown[] = Array.isArray(before.link) ? before.link : [];
  return {
    entryCount: starts.entries.length,
    name:
      first === undefined
        ? undefined
        : entryName(config, bytes.subarray(first, first + NAME_BYTES_MAX)),
    next: links.map(nextLinkOf).find((url) => url !== undefined),
    total: typeof before.total === 'number' ? before.total : undefined,
  };
}

/** Where the member `entry` begins, and where each of its elements does. */
function entryStarts(bytes: Buffer): { entryKey?: number; entries: number[] } {
  const entries: number[] = [];
  let entryKey: number | undefined;
  let levels = 0;
  let isWithin = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = String.fromCharCode(bytes[index] ?? 0);
    if (bytes[index] === QUOTE) {
      const end = endOfString(bytes, index);
      if (
        levels === 1 &&
        bytes.toString('latin1', index, end + 1) === '"entry"'
      )
        entryKey ??= index;
      index = end;
    } else if (byte === '{' || byte === '[') {
      levels += 1;
      if (byte === '[' && levels === 2)
        isWithin = entryKey !== undefined && entries.length === 0;
      if (byte === '{' && levels === 3 && isWithin) entries.push(index);
    } else if (byte === '}' || byte === ']') {
      levels -= 1;
      if (levels === 1) isWithin = false;
    }
  }
  return { entryKey, entries };
}

/** Parses the members before the cut. */
function parsed(before: Buffer): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(
      `${before.toString('utf8').replace(/,\s*$/, '')}}`,
    );
    return isRecord(json) ? json : {};
  } catch {
    return {};
  }
}

function entryName(
  config: ResolvedSourceConfig,
  entry: Buffer,
): string | undefined {
  const text = entry.toString('utf8');
  const fullUrl = /^\{\s*"fullUrl"\s*:\s*"([^"\\]+)"/.exec(text)?.[1];
  const [, type, id] =
    /"resource"\s*:\s*\{\s*"resourceType"\s*:\s*"([A-Za-z]+)"\s*,\s*"id"\s*:\s*"([^"\\]+)"/.exec(
      text,
    ) ?? [];
  if (type !== undefined && isResourceId(id)) return `${type}/${id}`;
  const local =
    fullUrl === undefined ? undefined : localReferenceOf(config, fullUrl);
  return local !== undefined && isResourceId(local.split('/')[1])
    ? local
    : undefined;
}

/**
 * Throws if the source is away, limits us or refuses our credentials. Called
 * before a part of a result is left out for good, because what an outage hides
 * must be asked for again. Sends one request, whose answer does not matter
 * otherwise.
 *
 * @param path below the base address
 * @throws SourceFailure. A 403, 500 or 501 may be about this one request, so it
 *   counts as an answer.
 */
export async function throwIfSourceIsAway(
  { config, http }: SourceContext,
  { path, label }: { path: string; label: string },
  signal: AbortSignal,
): Promise<void> {
  const url = new URL(path, config.baseUrl);
  const response = await http
    .send({ method: 'GET', url, label, signal })
    .catch((error: unknown) => {
      if (error instanceof SourceFailure && !mayBeAway(error)) return undefined;
      throw error;
    });
  if (response === undefined) return;
  if (AWAY.has(response.status)) throw await http.failureOf(response, label);
  await response.discard();
}

const AWAY = new Set([401, 408, 429, 502, 503, 504]);

/** Whether a failure of one request may be that of the whole source. */
export const mayBeAway = ({ kind, options }: SourceFailure): boolean =>
  kind === 'transport' ||
  kind === 'rate-limited' ||
  (kind === 'denied' && options.httpStatus !== 403);

const RETRY_DELAY_MAX_MS = 2_000;

export const isTransient = ({ kind }: SourceFailure): boolean =>
  kind === 'transport' || kind === 'rate-limited';

/**
 * Retries once, after a short delay, when the failure is transient. Returns the
 * second failure, does not throw it.
 */
export async function tryTwice<T>(
  ask: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | SourceFailure> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SourceFailure) || signal.aborted) throw error;
      if (!isFirst || !isTransient(error)) return error;
      const waitMs = Math.min(
        error.options.retryAfterMs ?? 200,
        RETRY_DELAY_MAX_MS,
      );
      await delay(waitMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}
