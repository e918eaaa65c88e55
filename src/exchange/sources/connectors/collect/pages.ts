import type { SourceContext } from '../capabilities.ts';
import { SourceFailure, type SourcePage } from '../connector.ts';
import { badResponse } from '../http/failures.ts';
import type { JsonResponse } from '../http/source-http.ts';
import { PAGE_COUNTED_BYTES } from '../source-config.ts';
import { ensureOnlyChanges } from './ask-changes.ts';
import { fetchedJob, fetchFile } from './async-job.ts';
import { fetchedBundle, fetchLink, joinedReports } from './bundle-page.ts';
import {
  attachmentsOf,
  contentsTakenBy,
  fetchDocuments,
  withDocuments,
} from './documents.ts';
import { askEverything } from './everything.ts';
import { fetchRead } from './medications.ts';
import { type PageContent, requestedContent } from './page-content.ts';
import {
  type FetchedPart,
  isStoringDue,
  type Plan,
  type Step,
  type StepOf,
} from './plan.ts';
import { fetchSearch, refusedTypes } from './search-by-type.ts';
import { withSmallerPages } from './smaller-pages.ts';
import {
  beyondMax,
  fetchSupporting,
  supportingSteps,
  withReferred,
} from './supporting.ts';

/**
 * Responses that `begin` or `poll` already received, by patient id or status
 * URL, so that none is fetched twice.
 */
export type ReceivedResponses = Map<string, JsonResponse>;

/**
 * Runs the steps of a plan and yields one page at a time; the next request is
 * sent only once the consumer asks for the next page. A response without
 * resources yields no page, unless it is the last one: it then closes the
 * sequence; or unless the position has not been stored for a while.
 */
export async function* walkPages(
  context: SourceContext,
  plan: Plan,
  received: ReceivedResponses,
  signal: AbortSignal,
): AsyncGenerator<SourcePage> {
  const { source, answerBytesMax } = context.config;
  let current = plan;
  let storedMs = context.now();
  while (current.steps.length > 0) {
    const [step, ...rest] = current.steps;
    if (step === undefined) break;
    for await (const fetched of fetchStep(context, step, received, signal)) {
      ensureOnlyChanges(context, current, step, fetched.entries);
      const content = requestedContent(
        context.config,
        plan.patientIds,
        fetched.entries,
      );
      const found = attachmentsOf(
        context.config,
        content.resources,
        contentsTakenBy(current, step),
      );
      const next = [...found.steps, ...fetched.next, ...rest];
      const left = remainingSteps(context, current, next, fetched, content);
      const unreachable = fetched.unreachable ?? left.unreachable;
      current = {
        ...current,
        steps: left.steps,
        supporting: left.supporting,
        documents: withDocuments(current, content.resources),
        // The attachments are bounded by the pages that named them, and what
        // is read besides by a limit of its own.
        answerBytes:
          current.answerBytes + (isBounded(step) ? 0 : countedBytes(fetched)),
        answeredSearchCount:
          current.answeredSearchCount +
          (fetched.isAnsweredSearch === true ? 1 : 0),
        refused: [...(current.refused ?? []), ...(fetched.refused ?? [])],
        forbidden: [...(current.forbidden ?? []), ...(fetched.forbidden ?? [])],
      };
      const isLast = current.steps.length === 0;
      if (!isLast && current.answerBytes >= answerBytesMax)
        throw badResponse(
          source,
          `returned pages of more than ${answerBytesMax} bytes (each counts as at least ${PAGE_COUNTED_BYTES})`,
        );
      if (
        isLast &&
        fetched.isAnsweredSearch === false &&
        current.answeredSearchCount === 0
      ) {
        if ((fetched.forbidden ?? current.forbidden ?? []).length > 0)
          throw new SourceFailure(
            'denied',
            `${source} answered 403 to each search`,
            { httpStatus: 403 },
          );
        throw new SourceFailure(
          'refused',
          `${source} supports neither $everything nor any search by type`,
        );
      }
      const isPage =
        fetched.entries.length > 0 || fetched.documents !== undefined;
      const reported = joinedReports(
        content.reported,
        { gaps: toArray(fetched.missing), warnings: [] },
        ...(isLast ? [refusedTypes(context.config.source, current)] : []),
      );
      const isIncomplete =
        (fetched.reportedErrors ?? 0) > 0 ||
        fetched.missing !== undefined ||
        unreachable !== undefined ||
        fetched.leftOut !== undefined;
      const isDue = isStoringDue(context.now, storedMs);
      if (isPage || isIncomplete || isLast || isDue) {
        yield pageOf(
          context,
          current,
          { documents: found, ...fetched, unreachable },
          { ...content, reported },
        );
        storedMs = context.now();
      }
    }
  }
}

const toArray = <T>(one: T | undefined): T[] =>
  one === undefined ? [] : [one];

const countedBytes = ({ raw }: FetchedPart): number =>
  Math.max(raw.bytes.length, PAGE_COUNTED_BYTES);

const isBounded = ({ kind }: Step): boolean =>
  kind === 'documents' || kind === 'supporting';

/**
 * The steps still to run. Once no other step is left, these are the steps that
 * fetch the supporting resources to which search results referred.
 */
function remainingSteps(
  { config }: SourceContext,
  plan: Plan,
  steps: Step[],
  { isSearch }: FetchedPart,
  { resources }: PageContent,
): Pick<Plan, 'steps' | 'supporting'> & Pick<FetchedPart, 'unreachable'> {
  const supporting =
    isSearch === true
      ? withReferred(config.source, plan.supporting, resources)
      : plan.supporting;
  if (steps.length > 0 || supporting.wanted.length === 0)
    return { steps, supporting };
  const due = supportingSteps(supporting);
  const known = [...supporting.known, ...supporting.wanted];
  return {
    steps: due.steps,
    supporting: { wanted: [], known },
    unreachable: beyondMax(due.beyond),
  };
}

function pageOf(
  context: SourceContext,
  plan: Plan,
  fetched: FetchedPart,
  content: PageContent,
): SourcePage {
  const {
    resources,
    misattributed,
    otherCount,
    reported,
    retracted,
    isAboutAnother,
  } = content;
  // A search page may contain only other patients: some servers ignore the
  // patient parameter and return everybody.
  if (isAboutAnother && fetched.isSearch !== true) {
    throw badResponse(
      context.config.source,
      "answered with another patient's record",
    );
  }
  const { documents } = fetched;
  const { contentType, bytes } = fetched.raw;
  const rawBytes =
    misattributed.length === 0
      ? bytes
      : fetched.rawWithout(new Set(misattributed));
  const isReported = reported.gaps.length + reported.warnings.length > 0;

  return {
    resources,
    patientIds: plan.patientIds,
    raw: { contentType, bytes: rawBytes },
    attachments: documents?.attachments ?? [],
    differingAttachments: documents?.differingAttachments,
    skippedAttachments: documents?.skippedAttachments ?? 0,
    skippedReasons: documents?.skippedReasons,
    largeAttachment: documents?.largeAttachment,
    misattributedCount: otherCount,
    retracted,
    reportedErrors: fetched.reportedErrors ?? 0,
    reported: isReported ? reported : undefined,
    leftOut: fetched.leftOut,
    unreachable: fetched.unreachable,
    next: plan.steps.length === 0 ? null : plan,
  };
}

async function* fetchStep(
  context: SourceContext,
  step: Step,
  received: ReceivedResponses,
  signal: AbortSignal,
): AsyncGenerator<FetchedPart> {
  switch (step.kind) {
    case 'everything':
      return yield await withSmallerPages(context, step, () =>
        fetchEverything(context, step, take(received, step.patientId), signal),
      );
    case 'search':
      return yield await withSmallerPages(context, step, () =>
        fetchSearch(context, step, signal),
      );
    case 'supporting':
      return yield await fetchSupporting(context, step, signal);
    case 'read':
      return yield await fetchRead(context, step, signal);
    case 'documents':
      return yield await fetchDocuments(context, step, signal);
    case 'link':
      return yield await withSmallerPages(context, step, () =>
        fetchLink(context, step, signal),
      );
    case 'job':
      return yield await fetchJob(
        context,
        step.url,
        take(received, step.url),
        signal,
      );
    case 'file':
      return yield* fetchFile(context, step, signal);
  }
}

/**
 * Returns a received response and removes it from the map: it may be large and
 * is used once.
 */
function take(
  received: ReceivedResponses,
  key: string,
): JsonResponse | undefined {
  const response = received.get(key);
  received.delete(key);
  return response;
}

async function fetchEverything(
  context: SourceContext,
  step: StepOf<'everything'>,
  received: JsonResponse | undefined,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const { source } = context.config;
  const label = 'Patient/$everything';
  const trail = { count: step.count, origin: step, counted: [] };
  if (received !== undefined)
    return fetchedBundle(context, label, received, trail);
  const { count, since } = step;
  const response = await askEverything(
    context,
    step.patientId,
    { async: false, count, since },
    signal,
  );
  if (response.kind === 'page')
    return fetchedBundle(context, label, response.response, trail);
  if (response.kind === 'accepted')
    throw badResponse(
      source,
      `responded to ${label} with an asynchronous job that was not requested`,
    );
  throw badResponse(
    source,
    `no longer supports ${label}, which it supported when the query began`,
  );
}

async function fetchJob(
  context: SourceContext,
  url: string,
  received: JsonResponse | undefined,
  signal: AbortSignal,
): Promise<FetchedPart> {
  if (received !== undefined) return fetchedJob(context, received);
  const label = 'the status of its job';
  return fetchedJob(
    context,
    await context.http.json({
      method: 'GET',
      url: new URL(url),
      label,
      signal,
    }),
  );
}
