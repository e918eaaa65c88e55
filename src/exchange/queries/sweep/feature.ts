import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { Platform } from '../../platform/platform.ts';
import { type SweepControl, sweepRecovery } from './control.ts';

/**
 * Post-import queries: after a bulk create, one query for each of its patients,
 * paced.
 */
export const querySweepFeature = {
  open: ({
    store,
    temporal,
  }: Pick<Platform, 'store' | 'temporal'>): OpenFeature => ({
    recoveries: [sweepRecovery({ store, temporal })],
    drain: async () => undefined,
  }),
  routes: (
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addQuerySweepRoutes>,
  ) => addQuerySweepRoutes(operations, deps),
} satisfies Feature;

/** Pause, resume and cancel of post-import queries (docs/interface.md, E5). */
function addQuerySweepRoutes(
  operations: Operations,
  { querySweeps }: { querySweeps: SweepControl },
): void {
  operations.act('pauseQuerySweep', async ({ params, caller }) =>
    statusAnswer(
      await querySweeps.pauseSweep(caller.account.id, params.requestId),
    ),
  );
  operations.act('resumeQuerySweep', async ({ params, caller }) =>
    statusAnswer(
      await querySweeps.resumeSweep(caller.account.id, params.requestId),
    ),
  );
  operations.act('cancelQuerySweep', async ({ params, caller }) =>
    statusAnswer(
      await querySweeps.cancelSweep(caller.account.id, params.requestId),
    ),
  );
}

const statusAnswer = (sweep: QuerySweepProgress) =>
  ok(sweep, { targetId: sweep.requestId });
