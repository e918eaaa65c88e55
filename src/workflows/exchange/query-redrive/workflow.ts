import {
  CancellationScope,
  defineQuery,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { RedriveActivities } from '../../../activities/exchange/query-sweep.ts';
import {
  QUERY_REDRIVE_MESSAGES as MESSAGES,
  type QueryRedriveInput,
  type RedriveProgress,
} from '../../../contract/query-redrive-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { continueWithCurrentBuild } from '../../shared/own-run.ts';
import { type PageDone, workInPages } from '../../shared/work-in-pages.ts';

/** Retried until they succeed: PostgreSQL may be down for a while. */
const { redrivePage, cancelRedrive } = proxyActivities<RedriveActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  summary: 'Retry the next queries',
});

/**
 * Retries one source of all queries that match a redrive's filter, paced.
 *
 * Durable because 100,000 queries within a source's limit take hours. Keyed by
 * the redrive's id. Its row in PostgreSQL holds the place, which moves in the
 * same transaction as a query's retry; so every step may run twice. A caller
 * cancels by changing the row, which each page obeys. History: about 11 events
 * per page of 50 queries; continues as new after 200 pages.
 */
export async function queryRedrive(
  input: QueryRedriveInput,
  carried: RedriveProgress = {
    state: 'running',
    queries: 0,
    retried: 0,
    skipped: 0,
    failed: 0,
  },
): Promise<RedriveProgress> {
  let progress = carried;
  setHandler(defineQuery<RedriveProgress>(MESSAGES.status), () => progress);

  async function nextPage(): Promise<PageDone> {
    const page = await redrivePage(input);
    progress = page.progress;
    setCurrentDetails(detailsOf(progress));
    return {
      isLast: progress.state !== 'running',
      uses: [],
      wait: page.wait,
    };
  }

  try {
    await workInPages({
      pagesPerRun: input.pagesPerRun,
      nextPage,
      continueAsNew: () =>
        continueWithCurrentBuild<typeof queryRedrive>(input, progress),
    });
  } catch (error) {
    // An operator has cancelled it in Temporal: callers read that in
    // PostgreSQL.
    if (isCancellation(error))
      await CancellationScope.nonCancellable(() => cancelRedrive(input));
    throw error;
  }
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: progress.state },
  ]);
  return progress;
}

const detailsOf = ({
  state,
  queries,
  retried,
  skipped,
  failed,
}: RedriveProgress): string =>
  `**${state}**: ${retried} of ${queries} queries retried, ${skipped} skipped, ${failed} not possible`;
