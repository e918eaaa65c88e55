import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { SweepControl } from './control.ts';

/** Pause, resume and cancel of post-import queries (docs/interface.md, E5). */
export function addQuerySweepRoutes(
  operations: Operations,
  { querySweeps }: { querySweeps: SweepControl },
): void {
  operations.act('pauseQuerySweep', async ({ params, caller }) =>
    statusAnswer(await querySweeps.pauseSweep(caller.account.id, params.requestId)),
  );
  operations.act('resumeQuerySweep', async ({ params, caller }) =>
    statusAnswer(await querySweeps.resumeSweep(caller.account.id, params.requestId)),
  );
  operations.act('cancelQuerySweep', async ({ params, caller }) =>
    statusAnswer(await querySweeps.cancelSweep(caller.account.id, params.requestId)),
  );
}

const statusAnswer = (sweep: QuerySweepProgress) => ok(sweep, { targetId: sweep.requestId });
