import type { QuerySweepProgress } from '../../contract/bulk-create-workflow.ts';
import { ok } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/operations.ts';
import type { SweepControl } from './control.ts';

/** Steering of the queries after a bulk create. */
export function addQuerySweepRoutes(
  operations: Operations,
  { querySweeps }: { querySweeps: SweepControl },
): void {
  operations.act('pauseQuerySweep', async ({ params, caller }) =>
    controlled(await querySweeps.pauseSweep(caller.account.id, params.requestId)),
  );
  operations.act('resumeQuerySweep', async ({ params, caller }) =>
    controlled(await querySweeps.resumeSweep(caller.account.id, params.requestId)),
  );
  operations.act('cancelQuerySweep', async ({ params, caller }) =>
    controlled(await querySweeps.cancelSweep(caller.account.id, params.requestId)),
  );
}

const controlled = (sweep: QuerySweepProgress) => ok(sweep, { targetId: sweep.requestId });
