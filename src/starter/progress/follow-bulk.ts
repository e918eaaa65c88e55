import { BULK_ONBOARDING_MESSAGES, type BulkOnboardingStatus } from '../../contract/bulk-onboarding.ts';
import { anySignal } from '../../lib/any-signal.ts';
import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import type { BulkStatusAnswer } from '../../orchestrator/client/answers.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { type BulkView, bulkView, type KnownOfBulk } from './bulk-view.ts';
import type { FollowOptions } from './follow-query.ts';
import { nextDelayMs, Pace } from './pace.ts';
import { askWorkflow, awaitEnd } from './workflow-state.ts';

const NO_WORKER = 'no worker answers now; the work goes on when one does';

/**
 * Looks at a bulk onboarding until it has ended; `onChange` gets each new state. Workers, Temporal and the exchange
 * may go and come back meanwhile. Throws WorkflowNotFoundError when Temporal does not know it.
 */
export async function followBulk(
  handle: BulkOnboardingHandle,
  onChange: (view: BulkView) => void,
  { client, pace = new Pace(), signal }: FollowOptions & { client: ExchangeClient },
): Promise<BulkView> {
  const done = new AbortController();
  const stop = signal === undefined ? done.signal : anySignal([signal, done.signal]);
  const ended = new AbortController();
  const end = awaitEnd(handle, stop).finally(() => ended.abort());
  // Awaited below; until then a rejection must not count as unhandled.
  end.catch(() => undefined);
  const untilEnd = anySignal([stop, ended.signal]);
  let known: KnownOfBulk = {};
  let told = '';
  const tell = (): boolean => {
    const view = bulkView(known);
    const isNew = JSON.stringify(view) !== told;
    told = JSON.stringify(view);
    if (isNew) onChange(view);
    return isNew;
  };
  try {
    let delayMs: number | undefined;
    while (!untilEnd.aborted) {
      known = await look(handle, client, untilEnd);
      if (untilEnd.aborted) break;
      delayMs = nextDelayMs(delayMs, tell());
      await pace.turn(delayMs, untilEnd);
    }
    known = { ...known, end: await end };
    tell();
    return bulkView(known);
  } finally {
    done.abort();
  }
}

/** One look. Throws WorkflowNotFoundError when Temporal does not know it, else what keeps Temporal from answering. */
export async function lookAtBulk(handle: BulkOnboardingHandle, client: ExchangeClient): Promise<BulkView> {
  const { status } = await handle.describe();
  const known = await look(handle, client);
  if (status.name === 'RUNNING' || status.name === 'PAUSED') return bulkView(known);
  return bulkView({ ...known, end: await awaitEnd(handle, new AbortController().signal) });
}

async function look(
  handle: BulkOnboardingHandle,
  client: ExchangeClient,
  signal?: AbortSignal,
): Promise<KnownOfBulk> {
  const status = await askWorkflow<BulkOnboardingStatus>(handle, BULK_ONBOARDING_MESSAGES.status);
  if (status === undefined) return { problem: NO_WORKER };
  const requestId = status.requestIds.at(-1);
  const isAtWork = status.phase === 'processing' && requestId !== undefined;
  return { status, request: isAtWork ? await requestOf(client, requestId, signal) : undefined };
}

/** Undefined when the exchange does not say, or not now: the workflow's own counts are shown then. */
async function requestOf(
  client: ExchangeClient,
  requestId: string,
  signal?: AbortSignal,
): Promise<BulkStatusAnswer | undefined> {
  try {
    return (await client.call('getBulkCreate', { params: { requestId } }, { signal })).answer;
  } catch (error) {
    if (error instanceof ExchangeCallError || signal?.aborted === true) return undefined;
    throw error;
  }
}
