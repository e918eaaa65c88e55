import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time.js';
import { withConnection } from '../../src/temporal/connection.ts';
import { describeExit, type ExitStatus } from './running-part.ts';

/** Types of search attributes, as in the server's command line. */
export type SearchAttributeTypeName =
  | 'Text'
  | 'Keyword'
  | 'Int'
  | 'Double'
  | 'Bool'
  | 'Datetime'
  | 'KeywordList';

export interface ServingExpectation {
  readonly address: string;
  readonly namespace: string;
  readonly searchAttributes: Readonly<Record<string, SearchAttributeTypeName>>;
  readonly retentionDays: number;
}

/** As long as for our own processes: a busy machine is waited for, and the start says so. */
const READY_TIMEOUT_MS = 240_000;
const CALL_TIMEOUT_MS = 5_000;
const POLL_MS = 50;
const DAY_MS = 86_400_000;

/**
 * Resolves when the server accepts work: the namespace exists with the expected retention, and the search attributes are
 * registered (the server rejects a workflow that sets an unknown one). Throws when the process ends or takes too long.
 */
export async function waitUntilServing(
  expectation: ServingExpectation,
  exited: Promise<ExitStatus>,
  signal?: AbortSignal,
): Promise<void> {
  let ended: ExitStatus | undefined;
  void exited.then((status) => {
    ended = status;
  });
  const deadline = Date.now() + READY_TIMEOUT_MS;
  const failed = exited.then((status) => {
    throw new Error(`it ${describeExit(status)}`);
  });
  failed.catch(() => undefined);
  for (;;) {
    try {
      // Checked first because the client waits a second before it retries a refused connection.
      await checkListening(expectation.address);
      return await Promise.race([checkServing(expectation), failed]);
    } catch (error) {
      if (ended !== undefined) throw new Error(`it ${describeExit(ended)}`);
      signal?.throwIfAborted();
      if (Date.now() > deadline)
        throw new Error(`it did not serve within ${READY_TIMEOUT_MS / 1000} s (${String(error)})`);
    }
    await sleep(POLL_MS);
  }
}

/** Rejects when nothing accepts connections at this address. */
export function checkListening(address: string): Promise<void> {
  const { hostname: host, port } = new URL(`http://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), timeout: CALL_TIMEOUT_MS });
    socket.once('connect', () => resolve());
    socket.once('timeout', () => reject(new Error('no answer')));
    socket.once('error', reject);
    for (const event of ['connect', 'timeout', 'error']) socket.once(event, () => socket.destroy());
  });
}

const checkServing = ({ address, namespace, ...expectation }: ServingExpectation): Promise<void> =>
  withConnection(address, CALL_TIMEOUT_MS, async ({ workflowService, operatorService }) => {
    await workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: msToTs(expectation.retentionDays * DAY_MS) },
    });
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    for (const name of Object.keys(expectation.searchAttributes))
      if (!(name in (customAttributes ?? {}))) throw new Error(`search attribute ${name} is missing`);
  });
