import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import {
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type SourceCommand,
} from '../../contract/network-query-workflow.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { networkQueryWorkflowId } from '../../contract/temporal.ts';
import { lastAttempts } from '../domain/query-status.ts';
import { ConflictError, NotFoundError, UnavailableError } from '../errors.ts';
import type { AccountTx, Store } from '../store/database.ts';
import {
  insertRun,
  latestRun,
  lockQuery,
  type QueryView,
  readQuery,
  settleQuery,
} from '../store/network-queries.ts';
import { tell } from '../store/timeline.ts';
import { callbackHash, callbackToken } from './callback-token.ts';
import type { Launcher } from './launcher.ts';

/** Milliseconds that a caller waits for a running workflow to take a command. */
const COMMAND_TIMEOUT_MS = 15_000;

export interface QueryControl {
  /** Tries a failed source again: in the running workflow, else by a run of its own. 404, 409, 503. */
  retrySource(accountId: string, requestId: string, source: SourceType): Promise<QueryView>;
  /** Ends one running source as failed. 404, 409, 503. */
  giveUpSource(accountId: string, requestId: string, source: SourceType): Promise<QueryView>;
  /** Ends all running sources as failed. 404, 409, 503. */
  cancelQuery(accountId: string, requestId: string): Promise<QueryView>;
}

export function createQueryControl(deps: {
  store: Store;
  temporal: Client;
  launcher: Launcher;
  callbackKey: string;
}): QueryControl {
  const { store } = deps;

  /** Sends an update to the query's newest workflow; false when that workflow has ended. */
  async function command(
    requestId: string,
    run: number,
    name: string,
    argument?: SourceCommand,
  ): Promise<boolean> {
    const handle = deps.temporal.workflow.getHandle(networkQueryWorkflowId(requestId, run));
    try {
      await deps.temporal.withDeadline(Date.now() + COMMAND_TIMEOUT_MS, () =>
        handle.executeUpdate<void, [SourceCommand | undefined]>(name, { args: [argument] }),
      );
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      if (error instanceof WorkflowUpdateFailedError)
        throw new ConflictError(error.cause?.message ?? 'Not possible now');
      if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
        throw new UnavailableError(
          'The query did not take the command in time; read its status before repeating it',
        );
      }
      throw new UnavailableError('The workflow service cannot be reached now; try again', { cause: error });
    }
  }

  const view = (accountId: string, requestId: string): Promise<QueryView> =>
    store.asAccount(accountId, (tx) => found(readQuery(tx, requestId)));

  /** Takes a source up again in a run of its own, in one transaction with the lock on the query. */
  async function redrive(accountId: string, requestId: string, source: SourceType): Promise<QueryView> {
    const run = await store.asAccount(accountId, async (tx) => {
      await found(lockQuery(tx, requestId));
      const { run: newest } = await latestRun(tx, requestId);
      const attempt = (await checkRetryable(tx, requestId, source)) + 1;
      const next = newest + 1;
      const token = callbackToken(deps.callbackKey, requestId, source, attempt);
      await insertRun(tx, requestId, next, [{ source, attempt, callbackHash: callbackHash(token) }]);
      await settleQuery(tx, requestId);
      await tell(tx, requestId, { source, attempt, kind: 'redrive', message: 'Taken up again on request' });
      return next;
    });
    deps.launcher.launch(accountId, requestId, run);
    return view(accountId, requestId);
  }

  return {
    async retrySource(accountId, requestId, source) {
      const open = await store.asAccount(accountId, async (tx) => {
        await checkRetryable(tx, requestId, source);
        const { run, endedAt } = await latestRun(tx, requestId);
        return endedAt === null ? run : undefined;
      });
      if (open === undefined) return redrive(accountId, requestId, source);
      const taken = await command(requestId, open, MESSAGES.retrySource, { source });
      return taken ? view(accountId, requestId) : redrive(accountId, requestId, source);
    },

    async giveUpSource(accountId, requestId, source) {
      const run = await store.asAccount(accountId, async (tx) => {
        const query = await found(readQuery(tx, requestId));
        const last = lastAttempts(query.attempts).find((attempt) => attempt.source === source);
        if (last === undefined || (last.status !== 'running' && !last.willRetry)) {
          throw new ConflictError(`The ${source} source of this query is not running`);
        }
        return (await latestRun(tx, requestId)).run;
      });
      await command(requestId, run, MESSAGES.giveUpSource, { source });
      return view(accountId, requestId);
    },

    async cancelQuery(accountId, requestId) {
      const run = await store.asAccount(accountId, async (tx) => {
        const query = await found(readQuery(tx, requestId));
        if (query.status !== 'running') throw new ConflictError(`The query has ended (${query.status})`);
        return (await latestRun(tx, requestId)).run;
      });
      await command(requestId, run, MESSAGES.cancelQuery);
      return view(accountId, requestId);
    },
  };
}

/** The number of the source's last attempt, 0 when it never started. Throws when it may not be tried again. */
async function checkRetryable(tx: AccountTx, requestId: string, source: SourceType): Promise<number> {
  const query = await found(readQuery(tx, requestId));
  const last = lastAttempts(query.attempts).find((attempt) => attempt.source === source);
  if (last === undefined) {
    if (query.errors.some((error) => error.source === source)) return 0;
    throw new ConflictError(`The ${source} source is not part of this query`);
  }
  if (last.status === 'running' || last.willRetry)
    throw new ConflictError(`The ${source} source is still running`);
  if (last.status === 'completed') throw new ConflictError(`The ${source} source has completed`);
  return last.attempt;
}

async function found<T>(value: Promise<T | undefined>): Promise<T> {
  const result = await value;
  if (result === undefined) throw new NotFoundError('Network query');
  return result;
}
