import { SourceFailure } from '../connector.ts';
import { AnswerTooLarge } from '../http/failures.ts';
import { FHIR_JSON } from '../http/source-http.ts';
import { settingCommand, settingName } from '../setting-names.ts';
import type { SourceContext } from '../source-context.ts';
import { beginningOfBundle } from './beginning-of-bundle.ts';
import { nextStep, withCount } from './bundle-page.ts';
import type { FetchedPart } from './fetched-part.ts';
import type { Step, StepOf } from './plan.ts';

type PagedStep = StepOf<'everything'> | StepOf<'search'> | StepOf<'link'>;

export const smallerCount = (count: number): number => Math.max(1, Math.floor(count / 4));

/**
 * Fetches a page. One that is larger than allowed is requested again with fewer resources; a single resource that is larger is
 * left out and named, and the next page is fetched.
 */
export async function withSmallerPages(
  context: SourceContext,
  step: PagedStep,
  fetch: () => Promise<FetchedPart>,
): Promise<FetchedPart> {
  try {
    return await fetch();
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    const smaller = smallerStep(context, step);
    return smaller === undefined ? leaveOut(context, step, error) : nothing([smaller]);
  }
}

/** Undefined if the page can be no smaller. A link without `_count` is replaced by its whole request with smaller pages. */
function smallerStep({ config }: SourceContext, step: PagedStep): Step | undefined {
  const count = step.count ?? config.pageSize;
  const isOpaque = step.kind === 'link' && !new URL(step.url).searchParams.has('_count');
  if (count === 1 && step.count === 1) return undefined;
  if (step.kind !== 'link') return { ...step, count: smallerCount(count) };
  if (!isOpaque) return withCount(step, smallerCount(count));
  return step.origin === undefined ? undefined : { ...step.origin, count: smallerCount(count) };
}

function leaveOut(context: SourceContext, step: PagedStep, error: AnswerTooLarge): FetchedPart {
  const { config } = context;
  const page = error.page();
  const beginning = beginningOfBundle(config, page.beginning);
  const isRest = step.kind === 'link' || beginning.total === 1;
  // Only a page of one resource shows which one is too large. A server may ignore `_count`.
  if (beginning.entryCount !== 1 || (beginning.next === undefined && !isRest)) {
    const limit = `${settingName(config, 'PAGE_BYTES_MAX')} is the limit${settingCommand(config)}`;
    const advice = `also when asked for one resource; ${limit}`;
    throw new SourceFailure('bad-answer', `${error.message}, ${advice}`);
  }
  const trail = step.kind === 'link' ? step : { count: 1, origin: step, ...searchedType(step) };
  const next = beginning.next === undefined ? [] : [nextStep(context, beginning.next, page.url, trail)];
  return { ...nothing(next), leftOut: [beginning.name ?? 'a resource without a name'] };
}

const searchedType = (step: PagedStep) => (step.kind === 'search' ? { searchedType: step.type } : {});

function nothing(next: Step[]): FetchedPart {
  const bytes = Buffer.alloc(0);
  return { entries: [], raw: { bytes, contentType: FHIR_JSON }, rawWithout: () => bytes, next };
}
