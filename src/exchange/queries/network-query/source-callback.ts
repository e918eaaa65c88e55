import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import {
  NETWORK_QUERY_MESSAGES,
  type SourceCallback,
} from '../../../contract/network-query-workflow.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import { networkQueryWorkflowId } from '../../../contract/temporal.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  refuseUnsigned,
  verifySourceCallback,
} from '../../platform/http/signed-callback.ts';
import type { Platform } from '../../platform/platform.ts';
import { callbackSecretsOf } from '../../sources/connections/settings.ts';
import {
  callbackHash,
  isCallbackToken,
  tokenOfProven,
} from './attempt-store.ts';
import { addToTimeline } from './timeline-store.ts';

interface Called {
  status: 200 | 401 | 404;
  attempt?: CalledAttempt;
}

type Headers = Record<string, string | string[] | undefined>;

const SIGNAL_TIMEOUT_MS = 10_000;

/**
 * Handles a source's report that an attempt's answer is ready. The callback is
 * only a hint: the step that waits for it, or else the workflow, fetches the
 * answer, and polls when the callback is lost. The source gets its response
 * before the workflow is signalled: 401 for a missing or wrong signature, 404
 * for an unknown token, otherwise 200, also when the attempt has ended.
 */
export type SourceCallbacks = ReturnType<typeof createSourceCallbacks>;

type CallbackDeps = Pick<
  Platform,
  | 'store'
  | 'temporal'
  | 'logger'
  | 'callbackSecrets'
  | 'keyRing'
  | 'callbackKey'
>;

export function createSourceCallbacks(deps: CallbackDeps) {
  /**
   * Signals the workflow of an attempt that an answer may be ready.
   * @throws what Temporal answers instead of taking the signal
   */
  async function signal({
    requestId,
    run,
    source,
    attempt,
  }: SignalledAttempt): Promise<void> {
    const handle = deps.temporal.workflow.getHandle(
      networkQueryWorkflowId(requestId, run),
    );
    await deps.temporal.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
      handle.signal<[SourceCallback]>(NETWORK_QUERY_MESSAGES.sourceCallback, {
        source,
        attempt,
      }),
    );
  }

  async function signalInBackground(attempt: SignalledAttempt): Promise<void> {
    try {
      await signal(attempt);
    } catch (error) {
      const { requestId } = attempt;
      deps.logger.info(
        { err: error, requestId },
        'a source callback could not be signalled to its workflow; the workflow polls instead',
      );
    }
  }

  const isSigner = (
    source: SourceType,
    headers: Headers,
    rawBody: Buffer,
  ): boolean => {
    const secret = deps.callbackSecrets[source];
    return (
      secret !== undefined &&
      verifySourceCallback(secret, headers, rawBody).isGenuine
    );
  };

  /** The attempt that a connection reports on; its key is in the database. */
  async function calledByConnection(
    token: string,
    headers: Headers,
    rawBody: Buffer,
  ): Promise<Called> {
    const attempt = await deps.store.asSystem((tx) =>
      findAttemptByCallback(tx, callbackHash(token)),
    );
    if (attempt === undefined) return { status: 404 };
    const { accountId, source } = attempt;
    const keys = await deps.store.asAccount(accountId, (tx) =>
      callbackSecretsOf(tx, deps.keyRing, source),
    );
    return verifySourceCallback(keys, headers, rawBody).isGenuine
      ? { status: 200, attempt }
      : { status: 401 };
  }

  async function calledBySource(
    token: string,
    headers: Headers,
    rawBody: Buffer,
  ): Promise<Called> {
    // Verified before the token is looked up, so that an unsigned request never
    // reaches the database.
    const signers = SOURCE_TYPES.filter((source) =>
      isSigner(source, headers, rawBody),
    );
    if (signers.length === 0) return { status: 401 };
    const attempt = isCallbackToken(token)
      ? await deps.store.asSystem((tx) =>
          findAttemptByCallback(tx, callbackHash(token)),
        )
      : undefined;
    if (attempt === undefined) return { status: 404 };
    return signers.includes(attempt.source)
      ? { status: 200, attempt }
      : { status: 401 };
  }

  /**
   * Records that an answer is ready, and signals the workflow, unless a step
   * waits for it.
   */
  async function announce(
    attempt: Omit<CalledAttempt, 'status'>,
  ): Promise<void> {
    const { isAwaited } = await deps.store.asAccount(attempt.accountId, (tx) =>
      recordCallback(tx, attempt),
    );
    if (isAwaited) return;
    void signalInBackground(attempt);
  }

  return {
    async handle(
      text: string,
      headers: Headers,
      rawBody: Buffer,
    ): Promise<{ status: 200 | 401 | 404 }> {
      const token = tokenOfProven(deps.callbackKey, text);
      const called =
        token === undefined
          ? await calledBySource(text, headers, rawBody)
          : await calledByConnection(token, headers, rawBody);
      const { attempt } = called;
      if (attempt?.status === 'running') await announce(attempt);
      return { status: called.status };
    },
    announce,
    signal,
  };
}

/** The attempt of a run that a signal is about. */
interface SignalledAttempt extends SourceCallback {
  requestId: string;
  run: number;
}

/** A callback is only a hint; a larger body is refused. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Adds the route on which sources report that an answer is ready. It needs no
 * API key: the token cannot be guessed, and the source signs the body. The body
 * stays raw bytes, because the signature covers them.
 */
export function addSourceCallbackRoute(
  app: FastifyInstance,
  deps: { sourceCallbacks: Pick<SourceCallbacks, 'handle'> },
): void {
  refuseUnsigned(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
    (_request, body, done) => done(null, body),
  );
  app.post<{ Params: { token: string } }>(
    '/sources/callback/:token',
    { schema: { hide: true }, config: { operation: 'sourceCallback' } },
    async (request, reply) => {
      const body = Buffer.isBuffer(request.body)
        ? request.body
        : Buffer.alloc(0);
      const { status } = await deps.sourceCallbacks.handle(
        request.params.token,
        request.headers,
        body,
      );
      return reply.code(status).send();
    },
  );
}

/** An attempt that a source's callback names by its token. */
type CalledAttempt = NonNullable<
  Awaited<ReturnType<typeof findAttemptByCallback>>
>;

/** The attempt, of any account, whose callback token has this hash. */
const findAttemptByCallback = (tx: SystemTx, hash: Buffer) =>
  tx.db
    .selectFrom('network_query_attempt')
    .select([
      'account_id as accountId',
      'query_id as requestId',
      'run',
      'source',
      'attempt',
      'status',
    ])
    .where('callback_hash', '=', hash)
    .executeTakeFirst();

/**
 * Records a callback on its attempt and in the timeline; a repeated callback
 * changes nothing. Returns whether a step waits for it.
 */
async function recordCallback(
  tx: AccountTx,
  { requestId, source, attempt }: Omit<CalledAttempt, 'status'>,
): Promise<{ isAwaited: boolean }> {
  const onceKey = `callback/${source}/${attempt}`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'callback',
    message: `The ${source} source reports that its answer is ready; it is collected next`,
    onceKey,
  });
  const recorded = await tx.db
    .updateTable('network_query_attempt')
    .set({ callback_at: sql<Date>`now()` })
    .where(({ and }) => and({ query_id: requestId, source, attempt }))
    .where('callback_at', 'is', null)
    .returning(
      sql<boolean>`coalesce(watched_until > now(), false)`.as('isAwaited'),
    )
    .executeTakeFirst();
  return recorded ?? { isAwaited: false };
}
