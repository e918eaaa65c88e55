import { CancelledFailure, Context } from '@temporalio/activity';
import type { ConsolidatedEnd, ConsolidatedQueryInput } from '../../contract/consolidated-workflow.ts';
import type { ConsolidatedBuilder } from '../../exchange/consolidated/build.ts';

export type ConsolidatedActivities = ReturnType<typeof createConsolidatedActivities>;

const HEARTBEAT_EVERY_MS = 1_000;

/** The steps of a consolidated query. Each may run twice: the query's row says whether it has ended. */
export function createConsolidatedActivities({ builder }: { builder: ConsolidatedBuilder }) {
  return {
    async buildConsolidated(of: ConsolidatedQueryInput): Promise<ConsolidatedEnd> {
      const context = Context.current();
      const timer = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
      try {
        return await builder.build(of, context.cancellationSignal);
      } catch (error) {
        if (context.cancellationSignal.aborted) throw new CancelledFailure('Stopped on request');
        throw error;
      } finally {
        clearInterval(timer);
      }
    },

    failConsolidated: ({
      reason,
      ...of
    }: ConsolidatedQueryInput & { reason: string }): Promise<ConsolidatedEnd> => builder.fail(of, reason),
  };
}
