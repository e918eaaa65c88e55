import type { Client } from '@temporalio/client';
import { NETWORK_QUERY_MESSAGES, type SourceCallback } from '../../contract/network-query-workflow.ts';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import { networkQueryWorkflowId } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../platform/database/database.ts';
import { verifySourceCallback } from '../sources/callback.ts';
import { findAttemptByCallback, recordCallback } from './attempt-store.ts';
import { callbackHash, isCallbackToken } from './callback-token.ts';

type Headers = Record<string, string | string[] | undefined>;

const SIGNAL_TIMEOUT_MS = 10_000;

/**
 * Handles a source's report that an attempt's answer is ready. The callback is only a hint: the workflow fetches the answer,
 * and polls when the callback is lost. The source gets its response before the workflow is signalled:
 * 401 for a missing or wrong signature, 404 for an unknown token, otherwise 200, also when the attempt has ended.
 */
export type SourceCallbacks = ReturnType<typeof createSourceCallbacks>;

export function createSourceCallbacks(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
  secrets: Partial<Record<SourceType, string>>;
}) {
  async function signalWorkflow(requestId: string, run: number, callback: SourceCallback): Promise<void> {
    const handle = deps.temporal.workflow.getHandle(networkQueryWorkflowId(requestId, run));
    try {
      await deps.temporal.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
        handle.signal<[SourceCallback]>(NETWORK_QUERY_MESSAGES.sourceCallback, callback),
      );
    } catch (error) {
      deps.logger.info(
        { err: error, requestId },
        'a source callback could not be signalled to its workflow; the workflow polls instead',
      );
    }
  }

  const isSigner = (source: SourceType, headers: Headers, rawBody: Buffer): boolean => {
    const secret = deps.secrets[source];
    return secret !== undefined && verifySourceCallback(secret, headers, rawBody).isGenuine;
  };

  return {
    async handle(token: string, headers: Headers, rawBody: Buffer): Promise<{ status: 200 | 401 | 404 }> {
      // Verified before the token is looked up, so that an unsigned request never reaches the database.
      const signers = SOURCE_TYPES.filter((source) => isSigner(source, headers, rawBody));
      if (signers.length === 0) return { status: 401 };
      const attempt = isCallbackToken(token)
        ? await deps.store.asSystem((tx) => findAttemptByCallback(tx, callbackHash(token)))
        : undefined;
      if (attempt === undefined) return { status: 404 };
      if (!signers.includes(attempt.source)) return { status: 401 };
      if (attempt.status === 'running') {
        await deps.store.asAccount(attempt.accountId, (tx) => recordCallback(tx, attempt));
        void signalWorkflow(attempt.requestId, attempt.run, {
          source: attempt.source,
          attempt: attempt.attempt,
        });
      }
      return { status: 200 };
    },
  };
}
