import type { ExchangeClient } from '../client/exchange-client.ts';
import { ExchangeCallError } from '../client/failures.ts';
import {
  Calls,
  type MonitoringOutcome,
  QueryStarter,
  RateLimited,
} from './ask.ts';
import {
  BEGINNING,
  type MonitoredPage,
  nothingYet,
  type PageInput,
} from './monitored-page.ts';

/**
 * After this many refusals in a row, the page ends and the workflow decides
 * whether to continue.
 */
const REFUSALS_IN_A_ROW_MAX = 5;

export interface PageDeps {
  client: ExchangeClient;
  /** ID_HMAC_KEY */
  hmacKey: string;
  /**
   * Called after each patient. To continue after an interruption, pass the last
   * value as `resume`.
   */
  note(page: MonitoredPage): void;
  /** Returns true when work on the page should stop. */
  isStopped(): boolean;
}

/**
 * Starts queries for the patients of one page of a cohort, one after the other.
 * Ends early when the rate limit is reached or `isStopped` returns true; `next`
 * of the result then points to the remaining patients. Throws
 * ExchangeCallError.
 */
export async function workOnPage(
  deps: PageDeps,
  input: PageInput,
  resume?: MonitoredPage,
): Promise<MonitoredPage> {
  const page = structuredClone(resume ?? nothingYet(input));
  const calls = new Calls(deps.client, page);
  const starter = new QueryStarter(input, calls, deps.hmacKey);
  try {
    const { patients, nextItem } = await readPage(calls, input);
    let refusedInARow = 0;
    for (const { id, status } of patients) {
      const place = page.next ?? BEGINNING;
      if (place.handled.includes(id)) continue;
      if (deps.isStopped()) return page;
      if (input.kind === 'hie' && status?.hieOptOut === true)
        page.skipped.optedOut += 1;
      else {
        const outcome = await starter.startOnce(id, place.refusals);
        count(page, outcome);
        refusedInARow = outcome === 'refused' ? refusedInARow + 1 : 0;
      }
      page.next = { ...place, handled: [...place.handled, id], refusals: 0 };
      deps.note(page);
      if (refusedInARow === REFUSALS_IN_A_ROW_MAX)
        return { ...page, refused: true };
    }
    page.next =
      nextItem === undefined ? undefined : { ...BEGINNING, fromItem: nextItem };
    return page;
  } catch (error) {
    if (!(error instanceof RateLimited)) throw error;
    return { ...page, waitMs: error.waitMs };
  }
}

async function readPage(
  calls: Calls,
  { cohortId, place, pageSize }: PageInput,
) {
  const { answer } = await calls.call('listCohortPatients', {
    params: { id: cohortId },
    query: { count: pageSize, fromItem: place.fromItem },
  });
  calls.page.patients = answer.meta.itemsInTotal ?? undefined;
  const { nextPage } = answer.meta;
  if (nextPage === undefined || nextPage === null)
    return { patients: answer.patients };
  const nextItem = cursorOf(nextPage);
  if (nextItem === undefined || nextItem === place.fromItem) {
    throw new ExchangeCallError(
      'bad-answer',
      'listCohortPatients: meta.nextPage has no new fromItem',
      {
        retryable: false,
      },
    );
  }
  return { patients: answer.patients, nextItem };
}

/**
 * Reads only the cursor from `meta.nextPage`; the address to call comes from
 * our own configuration.
 */
function cursorOf(nextPage: string): string | undefined {
  try {
    return (
      new URL(nextPage, 'https://relative.invalid').searchParams.get(
        'fromItem',
      ) ?? undefined
    );
  } catch {
    return undefined;
  }
}

function count(page: MonitoredPage, outcome: MonitoringOutcome): void {
  if (outcome === 'started') page.started += 1;
  else if (outcome === 'refused' || outcome === 'failed') page.failed += 1;
  else page.skipped[outcome] += 1;
}
