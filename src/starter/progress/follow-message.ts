import type { MessageResponse } from '../../orchestrator/client/answers.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { type FollowOptions, pollExchange } from './poll-exchange.ts';

/**
 * Follows the transmission of a message until it ends; `onChange` receives each new state. Returns the last state.
 * Throws ExchangeCallError when the exchange rejects a request.
 */
export const followMessage = (
  client: ExchangeClient,
  sent: MessageResponse,
  onChange: (message: MessageResponse, problem?: string) => void,
  options: FollowOptions = {},
): Promise<MessageResponse> =>
  pollExchange(
    sent,
    async (signal) => (await client.call('getMessage', { params: { id: sent.id } }, { signal })).answer,
    { ...options, isRunning: ({ status }) => status === 'processing', onChange },
  );
