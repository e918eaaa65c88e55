import type { MessageResponse } from '../../orchestrator/client/answers.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { type FollowOptions, isPassing } from './follow-query.ts';
import { nextDelayMs, Pace } from './pace.ts';

/**
 * Looks at a message until it has ended. An exchange that does not answer for a while is asked again. Throws ExchangeCallError
 * when it refuses to answer.
 */
export async function followMessage(
  client: ExchangeClient,
  sent: MessageResponse,
  onChange: (message: MessageResponse, problem?: string) => void,
  { pace = new Pace(), signal }: FollowOptions = {},
): Promise<MessageResponse> {
  let message = sent;
  let told: string | undefined;
  let delayMs: number | undefined;
  const isOver = () => signal?.aborted === true;
  while (!isOver() && message.status === 'processing') {
    let problem: string | undefined;
    let waitMs = 0;
    try {
      message = (await client.call('getMessage', { params: { id: sent.id } }, { signal })).answer;
    } catch (error) {
      if (isOver()) break;
      if (!(error instanceof ExchangeCallError) || !isPassing(error)) throw error;
      problem = `the exchange does not answer (${error.message}); asking again`;
      waitMs = error.retryAfterMs ?? 0;
    }
    const now = `${message.status} ${problem ?? ''}`;
    const changed = now !== told;
    if (changed) onChange(message, problem);
    told = now;
    if (message.status !== 'processing') break;
    delayMs = nextDelayMs(delayMs, changed);
    await pace.turn(Math.max(delayMs, waitMs), signal);
  }
  return message;
}
