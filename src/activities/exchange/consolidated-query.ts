import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import type { ConsolidatedEnd, ConsolidatedQueryInput } from '../../contract/consolidated-query-workflow.ts';
import type { ConsolidatedBuilder } from '../../exchange/consolidated-query/build.ts';
import { ProcessEndedTooOften, type StartGuard } from '../../exchange/platform/recovery/start-guard.ts';

export type ConsolidatedActivities = ReturnType<typeof createConsolidatedActivities>;

const HEARTBEAT_EVERY_MS = 1_000;

/** The steps of a consolidated query. Each may run twice: the query's row says whether it has ended. */
export function createConsolidatedActivities({
  builder,
  startGuard,
}: {
  builder: ConsolidatedBuilder;
  startGuard: StartGuard;
}) {
  return {
    async buildConsolidated(of: ConsolidatedQueryInput): Promise<ConsolidatedEnd> {
      const context = Context.current();
      const timer = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
      try {
        const { accountId, requestId } = of;
        const counted = { accountId, name: `consolidated/${requestId}`, progress: '' };
        const signal = context.cancellationSignal;
        return await startGuard.run(counted, signal, () => builder.build(of, signal));
      } catch (error) {
        if (context.cancellationSignal.aborted) throw new CancelledFailure('Stopped on request');
        if (error instanceof ProcessEndedTooOften)
          throw ApplicationFailure.nonRetryable(error.message, error.name);
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
