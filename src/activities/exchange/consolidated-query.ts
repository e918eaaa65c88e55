import type {
  ConsolidatedEnd,
  ConsolidatedQueryInput,
} from '../../contract/consolidated-query-workflow.ts';
import type { ConsolidatedBuilder } from '../../exchange/delivery/consolidated-query/build.ts';
import type { StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { withHeartbeat } from './heartbeat.ts';

export type ConsolidatedActivities = ReturnType<
  typeof createConsolidatedActivities
>;

/**
 * The steps of a consolidated query. Each may run twice: the query's row shows
 * whether it has ended.
 */
export function createConsolidatedActivities({
  builder,
  startGuard,
}: {
  builder: ConsolidatedBuilder;
  startGuard: StartGuard;
}) {
  return {
    async buildConsolidated(
      of: ConsolidatedQueryInput,
    ): Promise<ConsolidatedEnd> {
      const { accountId, requestId } = of;
      const counted = {
        accountId,
        name: `consolidated/${requestId}`,
        progress: '',
      };
      return withHeartbeat({}, (signal) =>
        startGuard.run(counted, signal, () => builder.build(of, signal)),
      );
    },

    failConsolidated: ({
      reason,
      ...of
    }: ConsolidatedQueryInput & { reason: string }): Promise<ConsolidatedEnd> =>
      builder.fail(of, reason),
  };
}
