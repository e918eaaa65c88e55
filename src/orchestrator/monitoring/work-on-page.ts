import type { ExchangeClient } from '../client/exchange-client.ts';
import { ExchangeCallError } from '../client/failures.ts';
import { Asker, type Turn } from './ask.ts';
import { Calls, NoRoom } from './calls.ts';
import { BEGINNING, type MonitoredPage, nothingYet, type PageInput } from './monitored-page.ts';

/** When so many in a row are refused it is for the workflow to say whether going on makes sense. */
const REFUSALS_IN_A_ROW_MAX = 5;

export interface PageDeps {
  client: ExchangeClient;
  /** ID_HMAC_KEY */
  hmacKey: string;
  /** Told after each patient; what it was told last may be given as `resume` to go on from there. */
  note(page: MonitoredPage): void;
  /** True when the page shall be left where it stands. */
  isStopped(): boolean;
}

/**
 * Asks for the patients of one page of a cohort, one after the other. Leaves it where it stands when the exchange has
 * no room or it is stopped; `next` of the result then points to the rest. Throws ExchangeCallError.
 */
export async function workOnPage(
  deps: PageDeps,
  input: PageInput,
  resume?: MonitoredPage,
): Promise<MonitoredPage> {
  const page = structuredClone(resume ?? nothingYet(input));
  const calls = new Calls(deps.client, page);
  const asker = new Asker(input, calls, deps.hmacKey);
  try {
    const { patients, nextItem } = await readPage(calls, input);
    let refusedInARow = 0;
    for (const { id, status } of patients) {
      const place = page.next ?? BEGINNING;
      if (place.handled.includes(id)) continue;
      if (deps.isStopped()) return page;
      if (input.kind === 'hie' && status?.hieOptOut === true) page.skipped.optedOut += 1;
      else {
        const turn = await asker.ask(id, place.refusals);
        count(page, turn);
        refusedInARow = turn === 'refused' ? refusedInARow + 1 : 0;
      }
      page.next = { ...place, handled: [...place.handled, id], refusals: 0 };
      deps.note(page);
      if (refusedInARow === REFUSALS_IN_A_ROW_MAX) return { ...page, refused: true };
    }
    page.next = nextItem === undefined ? undefined : { ...BEGINNING, fromItem: nextItem };
    return page;
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error;
    return { ...page, waitMs: error.waitMs };
  }
}

async function readPage(calls: Calls, { cohortId, place, pageSize }: PageInput) {
  const { answer } = await calls.call('listCohortPatients', {
    params: { id: cohortId },
    query: { count: pageSize, fromItem: place.fromItem },
  });
  calls.page.patients = answer.meta.itemsInTotal ?? undefined;
  const { nextPage } = answer.meta;
  if (nextPage === undefined || nextPage === null) return { patients: answer.patients };
  const nextItem = cursorOf(nextPage);
  if (nextItem === undefined || nextItem === place.fromItem) {
    throw new ExchangeCallError('bad-answer', 'listCohortPatients: meta.nextPage leads nowhere', {
      retryable: false,
    });
  }
  return { patients: answer.patients, nextItem };
}

/** Of `meta.nextPage` only the cursor is used: where to call is our own configuration. */
function cursorOf(nextPage: string): string | undefined {
  try {
    return new URL(nextPage, 'https://relative.invalid').searchParams.get('fromItem') ?? undefined;
  } catch {
    return undefined;
  }
}

function count(page: MonitoredPage, turn: Turn): void {
  switch (turn) {
    case 'started':
      page.started += 1;
      return;
    case 'alreadyAsked':
    case 'gone':
      page.skipped[turn] += 1;
      return;
    case 'refused':
    case 'failed':
      page.failed += 1;
  }
}
