import { v7 as uuidv7 } from 'uuid';
import type { QueryRedrive } from '../../../contract/query-redrive.ts';
import { membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ConflictError,
  InvalidRequestError,
  orNotFound,
} from '../../platform/errors.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  countFailed,
  countOpenRetries,
  endRedrive,
  findRedrive,
  insertRedrive,
  lockRedrive,
  type RedriveFilter,
  type StoredRedrive,
} from './redrive-store.ts';
import type { RedriveLauncher } from './redriver.ts';

/**
 * Redrives: one source of many queries that failed is retried, paced (decision
 * 97).
 */
export const queryRedriveFeature = {
  open: ({
    queryRedrives,
  }: {
    queryRedrives: RedriveLauncher;
  }): OpenFeature => ({
    recoveries: [queryRedrives.recovery],
    drain: queryRedrives.drain,
  }),
  routes: (
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addQueryRedriveRoutes>,
  ) => addQueryRedriveRoutes(operations, deps),
} satisfies Feature;

/** Redrives of failed queries; see docs/interface.md, E3. */
function addQueryRedriveRoutes(
  operations: Operations,
  { queryRedrives }: { queryRedrives: Pick<RedriveLauncher, 'launch'> },
): void {
  operations.write('redriveQueries', async (tx, { body, caller }) => {
    const now = new Date();
    const failedTo = new Date(body.failedTo ?? now);
    const filter: RedriveFilter = {
      source: body.source,
      failedFrom: new Date(body.failedFrom),
      // A retry that fails later is not retried by the same redrive.
      failedTo: failedTo < now ? failedTo : now,
      reason: body.reason ?? null,
    };
    if (filter.failedFrom >= filter.failedTo)
      throw new InvalidRequestError([
        {
          path: 'failedFrom',
          message: 'must be before failedTo, and in the past',
        },
      ]);
    const queries = await countFailed(tx, filter);
    if (body.dryRun) return ok(dryRunAnswer(filter, queries));
    const id = uuidv7();
    const redrive = await insertRedrive(tx, {
      ...filter,
      id,
      actor: caller.actor,
      queries,
    });
    if (redrive === undefined)
      throw new ConflictError(
        `Another redrive of the ${body.source} source is running; cancel it or wait for its end`,
      );
    return ok(await answer(tx, redrive), {
      targetId: id,
      afterCommit: () => queryRedrives.launch(caller.account.id, id),
    });
  });

  operations.read('getQueryRedrive', async (tx, { params }) =>
    ok(
      await answer(
        tx,
        orNotFound('Redrive', await findRedrive(tx, params.requestId)),
      ),
    ),
  );

  operations.write('cancelQueryRedrive', async (tx, { params }) => {
    const { state } = orNotFound(
      'Redrive',
      await lockRedrive(tx, params.requestId),
    );
    const cancelled = await endRedrive(tx, params.requestId, 'cancelled');
    if (cancelled === undefined)
      throw new ConflictError(`The redrive has ended (${state})`);
    return ok(await answer(tx, cancelled), { targetId: params.requestId });
  });
}

async function answer(
  tx: AccountTx,
  redrive: StoredRedrive,
): Promise<QueryRedrive> {
  const { open } = await countOpenRetries(tx, redrive.id);
  const { id, state, queries, retried, skipped, failed } = redrive;
  return {
    requestId: id,
    state,
    ...whichFailed(membersOf(redrive)),
    queries,
    retried,
    skipped,
    failed,
    open,
    startedAt: redrive.created_at.toISOString(),
    endedAt: redrive.ended_at?.toISOString(),
  };
}

const dryRunAnswer = (
  filter: RedriveFilter,
  queries: number,
): QueryRedrive => ({
  state: 'dry-run',
  ...whichFailed(filter),
  queries,
  retried: 0,
  skipped: 0,
  failed: 0,
  open: 0,
});

const whichFailed = ({
  source,
  failedFrom,
  failedTo,
  reason,
}: RedriveFilter) => ({
  source,
  failedFrom: failedFrom.toISOString(),
  failedTo: failedTo.toISOString(),
  reason: reason ?? undefined,
});
