import { type Page, SourceFailure } from '../connector.ts';
import { badAnswer } from '../http/failures.ts';
import type { JsonAnswer } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { collectAttachments } from './attachments.ts';
import { fetchedBundle, fetchLink } from './bundle-page.ts';
import { askEverything } from './everything.ts';
import type { Fetched } from './fetched.ts';
import { fetchedJob } from './job-answer.ts';
import { fetchRead } from './medications.ts';
import { fetchFile } from './ndjson.ts';
import { type Content, contentOf } from './page-content.ts';
import type { Plan, Step } from './plan.ts';
import { fetchSearch } from './search-by-type.ts';
import { beyondMax, fetchSupporting, supportingSteps, withReferred } from './supporting.ts';

/** Answers that `begin` or `poll` already received, by patient id or status address: not fetched twice. */
export type ReceivedAnswers = Map<string, JsonAnswer>;

/**
 * Fetches what a plan still holds, one page at a time; nothing is fetched before the page before it was taken.
 * An answer without any resource is no page, unless it is the last: then it closes the sequence.
 */
export async function* walkPages(
  context: SourceContext,
  plan: Plan,
  received: ReceivedAnswers,
  signal: AbortSignal,
): AsyncGenerator<Page> {
  const { source, pagesMax } = context.config;
  let current = plan;
  while (current.steps.length > 0) {
    const [step, ...rest] = current.steps;
    if (step === undefined) break;
    for await (const fetched of fetchStep(context, step, received, signal)) {
      const content = contentOf(context.config, plan.patientIds, fetched.entries);
      const left = whatIsLeft(context, current, [...fetched.next, ...rest], fetched, content);
      const unreachable = fetched.unreachable ?? left.unreachable;
      current = {
        ...current,
        steps: left.steps,
        supporting: left.supporting,
        pageCount: current.pageCount + 1,
        answeredSearchCount: current.answeredSearchCount + (fetched.isAnsweredSearch === true ? 1 : 0),
      };
      const isLast = current.steps.length === 0;
      if (!isLast && current.pageCount >= pagesMax)
        throw badAnswer(source, `gave more than ${pagesMax} pages`);
      if (isLast && fetched.isAnsweredSearch === false && current.answeredSearchCount === 0) {
        throw new SourceFailure('refused', `${source} supports neither $everything nor any search by type`);
      }
      const says = (fetched.reportedErrors ?? 0) > 0 || unreachable !== undefined;
      if (fetched.entries.length > 0 || says || isLast)
        yield await pageOf(context, current, { ...fetched, unreachable }, content, signal);
    }
  }
}

/** The steps that are left; after the last page of the searches, those for what the pages refer to. */
function whatIsLeft(
  { config }: SourceContext,
  plan: Plan,
  steps: Step[],
  { isSearch }: Fetched,
  { resources }: Content,
): Pick<Plan, 'steps' | 'supporting'> & Pick<Fetched, 'unreachable'> {
  const supporting =
    isSearch === true ? withReferred(config.source, plan.supporting, resources) : plan.supporting;
  if (steps.length > 0 || supporting.wanted.length === 0) return { steps, supporting };
  const due = supportingSteps(supporting);
  const known = [...supporting.known, ...supporting.wanted];
  return { steps: due.steps, supporting: { wanted: [], known }, unreachable: beyondMax(due.beyond) };
}

async function pageOf(
  context: SourceContext,
  plan: Plan,
  fetched: Fetched,
  content: Content,
  signal: AbortSignal,
): Promise<Page> {
  const { resources, strays, retracted, isAboutAnother } = content;
  // Only a search may be answered with everybody, page by page.
  if (isAboutAnother && fetched.isSearch !== true) {
    throw badAnswer(context.config.source, "answered with another patient's record");
  }
  const { contentType, bytes } = fetched.raw;
  const rawBytes = strays.length === 0 ? bytes : fetched.rawWithout(new Set(strays));
  return {
    resources,
    patientIds: plan.patientIds,
    raw: { contentType, bytes: rawBytes },
    ...(await collectAttachments(context, resources, signal)),
    misattributedCount: strays.length,
    retracted,
    reportedErrors: fetched.reportedErrors ?? 0,
    ...(fetched.unreachable === undefined ? {} : { unreachable: fetched.unreachable }),
    next: plan.steps.length === 0 ? null : plan,
  };
}

async function* fetchStep(
  context: SourceContext,
  step: Step,
  received: ReceivedAnswers,
  signal: AbortSignal,
): AsyncGenerator<Fetched> {
  switch (step.kind) {
    case 'everything':
      return yield await fetchEverything(context, step.patientId, take(received, step.patientId), signal);
    case 'search':
      return yield await fetchSearch(context, step, signal);
    case 'supporting':
      return yield await fetchSupporting(context, step, signal);
    case 'read':
      return yield await fetchRead(context, step, signal);
    case 'link':
      return yield await fetchLink(context, step, signal);
    case 'job':
      return yield await fetchJob(context, step.url, take(received, step.url), signal);
    case 'file':
      return yield* fetchFile(context, step, signal);
  }
}

/** Each received answer is used once and then let go: it may be large. */
function take(received: ReceivedAnswers, key: string): JsonAnswer | undefined {
  const answer = received.get(key);
  received.delete(key);
  return answer;
}

async function fetchEverything(
  context: SourceContext,
  patientId: string,
  received: JsonAnswer | undefined,
  signal: AbortSignal,
): Promise<Fetched> {
  const { source } = context.config;
  const label = 'Patient/$everything';
  if (received !== undefined) return fetchedBundle(context, label, received);
  const answer = await askEverything(context, patientId, { async: false }, signal);
  if (answer.kind === 'page') return fetchedBundle(context, label, answer.answer);
  if (answer.kind === 'accepted') throw badAnswer(source, `made a job of ${label} without being asked to`);
  throw badAnswer(source, `served ${label} before and now does not`);
}

async function fetchJob(
  context: SourceContext,
  url: string,
  received: JsonAnswer | undefined,
  signal: AbortSignal,
): Promise<Fetched> {
  if (received !== undefined) return fetchedJob(context, received);
  const label = 'the status of its job';
  return fetchedJob(context, await context.http.json({ method: 'GET', url: new URL(url), label, signal }));
}
