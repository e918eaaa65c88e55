import { setTimeout as delay } from 'node:timers/promises';
import {
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type SourceCommand,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { networkQueryWorkflowId } from '../../../contract/temporal.ts';
import { findAccount } from '../../access/accounts/account-store.ts';
import { deniedSources } from '../../people/consents/consent-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { ConflictError, orNotFound } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  commandWorkflow,
  endStuckWorkflow,
  unavailable,
  type WorkflowCommandOutcome,
} from '../../platform/workflows/workflow-command.ts';
import { callbackHash, callbackToken } from './attempt-store.ts';
import { failOpenAttempts, openAttemptsOfRun } from './endings.ts';
import { type Launcher, latestRun } from './launcher.ts';
import { whyNotAsked } from './prepare.ts';
import {
  insertRun,
  lockQuery,
  readQuery,
  type StoredAttemptView,
  type StoredQueryView,
  settleQuery,
} from './query-store.ts';
import { lastAttempts } from './rules/query-status.ts';
import { addToTimeline } from './timeline-store.ts';

interface Run {
  accountId: string;
  requestId: string;
  run: number;
}

const RETRY_TRIES = 5;
const RETRY_PAUSE_MS = 100;

/**
 * `commandTimeoutMs`: how long a caller waits for a running workflow to accept
 * a command.
 */
export type ControlDeps = Pick<
  Platform,
  'store' | 'temporal' | 'callbackKey'
> & {
  commandTimeoutMs?: number;
};

export type QueryControl = ReturnType<typeof createQueryControl>;

export function createQueryControl(deps: ControlDeps & { launcher: Launcher }) {
  const { store, launcher } = deps;
  const command = (
    of: { requestId: string; run: number },
    name: string,
    argument?: SourceCommand,
  ) =>
    commandWorkflow(
      deps.temporal,
      networkQueryWorkflowId(of.requestId, of.run),
      name,
      {
        argument,
        timeoutMs: deps.commandTimeoutMs,
      },
    );

  /**
   * Sends a command to the workflow of one run. A workflow that never started
   * is started first. When the workflow is closed or stuck, the attempts it
   * left open are failed here with `reason`.
   */
  async function steer(
    of: Run,
    name: string,
    reason: string,
    argument?: SourceCommand,
  ): Promise<void> {
    let outcome = await command(of, name, argument);
    if (outcome === 'closed') {
      const state = await launcher
        .start(of.accountId, of.requestId, of.run, true)
        .catch(unavailable);
      if (state === 'open') outcome = await command(of, name, argument);
    }
    if (outcome === 'taken') return;
    await store.asAccount(of.accountId, (tx) =>
      failOpenAttempts(tx, of, reason, argument?.source),
    );
    if (outcome === 'stuck') await replaceStuck(of);
  }

  /**
   * Starts a stuck workflow anew for the sources that are still open, or closes
   * it.
   */
  async function replaceStuck(of: Run): Promise<void> {
    const { accountId, requestId, run } = of;
    const open = await store.asAccount(accountId, (tx) =>
      openAttemptsOfRun(tx, requestId, run),
    );
    if (open.length > 0)
      await launcher.replace(accountId, requestId, run).catch(unavailable);
    else
      await endStuckWorkflow(
        deps.temporal,
        networkQueryWorkflowId(requestId, run),
      ).catch(unavailable);
  }

  /**
   * Asks the running workflow to retry a source. An attempt's end is committed,
   * and announced by webhook, a moment before the workflow learns of it, so a
   * conflict is tried again briefly.
   */
  async function retryInWorkflow(
    run: Run,
    source: SourceType,
  ): Promise<WorkflowCommandOutcome> {
    for (let tries = 1; ; tries++) {
      try {
        return await command(run, MESSAGES.retrySource, { source });
      } catch (error) {
        if (!(error instanceof ConflictError) || tries === RETRY_TRIES)
          throw error;
        await delay(RETRY_PAUSE_MS);
      }
    }
  }

  const view = (
    accountId: string,
    requestId: string,
  ): Promise<StoredQueryView> =>
    store.asAccount(accountId, async (tx) =>
      orNotFound('Network query', await readQuery(tx, requestId)),
    );

  /**
   * Retries a source of a query whose workflow has ended, in a new run; the
   * lock on the query prevents a second one.
   */
  async function redrive(
    accountId: string,
    requestId: string,
    source: SourceType,
  ): Promise<StoredQueryView> {
    const run = await store.asAccount(accountId, (tx) =>
      openRetryRun(tx, { requestId, source, callbackKey: deps.callbackKey }),
    );
    launcher.launch(accountId, requestId, run);
    return view(accountId, requestId);
  }

  return {
    /**
     * Tries a failed source again: in the running workflow, or in a new run.
     * Throws 404, 409 or 503.
     */
    async retrySource(
      accountId: string,
      requestId: string,
      source: SourceType,
    ): Promise<StoredQueryView> {
      const open = await store.asAccount(accountId, async (tx) => {
        await checkRetryable(tx, requestId, source);
        const { run, endedAt } = await latestRun(tx, requestId);
        return endedAt === null ? run : undefined;
      });
      if (open === undefined) return redrive(accountId, requestId, source);
      const run = { accountId, requestId, run: open };
      const outcome = await retryInWorkflow(run, source);
      if (outcome === 'taken') return view(accountId, requestId);
      const retried = await redrive(accountId, requestId, source);
      if (outcome === 'stuck') await replaceStuck(run);
      return retried;
    },

    /** Ends one running source as failed. Throws 404, 409 or 503. */
    async giveUpSource(
      accountId: string,
      requestId: string,
      source: SourceType,
    ): Promise<StoredQueryView> {
      const { attempts } = await view(accountId, requestId);
      const last = lastAttempts(attempts).find(
        (attempt) => attempt.source === source,
      );
      if (last === undefined || !isOpen(last)) {
        throw new ConflictError(
          `The ${source} source of this query is not running`,
        );
      }
      const of = { accountId, requestId, run: last.run };
      await steer(of, MESSAGES.giveUpSource, 'Given up on request', { source });
      return view(accountId, requestId);
    },

    /** Ends all running sources as failed. Throws 404, 409 or 503. */
    async cancelQuery(
      accountId: string,
      requestId: string,
    ): Promise<StoredQueryView> {
      const { status, attempts } = await view(accountId, requestId);
      if (status !== 'running')
        throw new ConflictError(
          `The query has ended (${status}); nothing is left to cancel`,
        );
      const runs = new Set(
        lastAttempts(attempts)
          .filter(isOpen)
          .map(({ run }) => run),
      );
      for (const run of runs)
        await steer(
          { accountId, requestId, run },
          MESSAGES.cancelQuery,
          'Cancelled on request',
        );
      return view(accountId, requestId);
    },
  };
}

/**
 * Writes a new run that retries a source of a query whose workflow has ended;
 * the lock on the query prevents a second one. Returns its number. Throws 404
 * or 409.
 *
 * @param of.redriveId the redrive that retries it; its run yields to
 *   interactive ones
 */
export async function openRetryRun(
  tx: AccountTx,
  of: {
    requestId: string;
    source: SourceType;
    callbackKey: string;
    redriveId?: string;
  },
): Promise<number> {
  const { requestId, source, redriveId } = of;
  orNotFound('Network query', await lockQuery(tx, requestId));
  const { run: newest } = await latestRun(tx, requestId);
  const attempt = (await checkRetryable(tx, requestId, source)) + 1;
  const run = newest + 1;
  const token = callbackToken(of.callbackKey, requestId, source, attempt);
  await insertRun(
    tx,
    requestId,
    run,
    [{ source, attempt, callbackHash: callbackHash(token) }],
    redriveId,
  );
  await settleQuery(tx, requestId);
  const why =
    redriveId === undefined ? 'on request' : `by the redrive ${redriveId}`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'redrive',
    message: `The ${source} source is retried ${why}; attempt ${attempt} starts now`,
  });
  return run;
}

const isOpen = ({ status, willRetry }: StoredAttemptView): boolean =>
  status === 'running' || willRetry;

/**
 * The number of the source's last attempt, 0 when it never started. Throws 404
 * or 409 when it cannot be retried.
 */
export async function checkRetryable(
  tx: AccountTx,
  requestId: string,
  source: SourceType,
): Promise<number> {
  const query = orNotFound('Network query', await readQuery(tx, requestId));
  const last = lastAttempts(query.attempts).find(
    (attempt) => attempt.source === source,
  );
  if (
    last === undefined &&
    !query.errors.some((error) => error.source === source)
  )
    throw new ConflictError(`The ${source} source is not part of this query`);
  if (last !== undefined && isOpen(last))
    throw new ConflictError(`The ${source} source is still running`);
  if (last?.status === 'completed')
    throw new ConflictError(`The ${source} source has completed`);
  const refused = await currentRefusal(
    tx,
    { ...query, purposeOfUse: await purposeOf(tx, requestId) },
    source,
  );
  if (refused !== undefined) throw new ConflictError(refused);
  return last?.attempt ?? 0;
}

/**
 * Why the source may no longer be asked: since the query began, consents may
 * exclude it, or the source been disabled.
 */
async function currentRefusal(
  tx: AccountTx,
  {
    patientId,
    purposeOfUse,
  }: { patientId: string; purposeOfUse: 'treatment' | 'ias' },
  source: SourceType,
): Promise<string | undefined> {
  const account = await findAccount(tx, tx.accountId);
  const patient = await findPatient(tx, patientId);
  if (account === undefined || patient === undefined)
    return 'The patient was deleted';
  const denied = await deniedSources(tx, patientId, purposeOfUse, [source]);
  return whyNotAsked(source, { account, patient }, denied)?.message;
}

const purposeOf = async (tx: AccountTx, requestId: string) =>
  (
    await tx.db
      .selectFrom('network_query')
      .select('purpose_of_use')
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow()
  ).purpose_of_use;
