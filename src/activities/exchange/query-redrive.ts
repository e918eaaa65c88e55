import { heartbeat } from '@temporalio/activity';
import type { QueryRedriveInput, RedrivePage } from '../../contract/query-redrive-workflow.ts';
import type { Redriver } from '../../exchange/queries/redrive/redriver.ts';

export type RedriveActivities = ReturnType<typeof createRedriveActivities>;

/** The step of a redrive. It may run twice: each query's retry moves the redrive's place in the same transaction. */
export function createRedriveActivities({ redriver }: { redriver: Redriver }) {
  return {
    redrivePage: ({ accountId, redriveId }: QueryRedriveInput): Promise<RedrivePage> =>
      redriver.nextPage(accountId, redriveId, heartbeat),
    cancelRedrive: ({ accountId, redriveId }: QueryRedriveInput): Promise<void> =>
      redriver.cancel(accountId, redriveId),
  };
}
