import { Agent } from 'undici';
import type { Config } from '../config.ts';
import type { ExchangeAccess } from '../contract/patient-onboarding.ts';
import { createCredentials } from './client/credentials.ts';
import {
  createExchangeClient,
  type ExchangeClient,
} from './client/exchange-client.ts';
import {
  createFileTransfer,
  type FileTransfer,
} from './client/file-transfer.ts';

/**
 * The variables that the orchestrator's worker reads. INTERNAL_TOKEN_KEY is
 * needed only for our own exchange.
 */
export const EXCHANGE_ACCESS_VARIABLES = [
  'EXCHANGE_BASE_URL',
  'EXCHANGE_API_KEY',
  'EXCHANGE_ACCOUNT_ID',
  'EXCHANGE_IDEMPOTENCY',
] as const;
type ExchangeConfig = Config<(typeof EXCHANGE_ACCESS_VARIABLES)[number]> & {
  INTERNAL_TOKEN_KEY?: string;
};

/**
 * Shorter than the activities' start-to-close timeout, so that the client's
 * error describes the failure.
 */
const CALL_TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Shorter than the heartbeat timeout of file transfers, for the same reason.
 */
const STALL_MS = 45_000;

export type ExchangeConnection = ReturnType<typeof openExchange>;

/**
 * Opens a connection pool to the configured exchange; creates a client for each
 * requested credential.
 */
export function openExchange(config: ExchangeConfig) {
  const dispatcher = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
  const credentials = createCredentials({
    apiKey: config.EXCHANGE_API_KEY,
    internalTokenKey: config.INTERNAL_TOKEN_KEY,
  });
  return {
    clientFor: (access: ExchangeAccess): ExchangeClient =>
      createExchangeClient({
        baseUrl: config.EXCHANGE_BASE_URL,
        credential: () => credentials(access),
        idempotency: config.EXCHANGE_IDEMPOTENCY,
        timeoutMs: CALL_TIMEOUT_MS,
        dispatcher,
      }),
    transferFor: (access: ExchangeAccess): FileTransfer =>
      createFileTransfer({
        credential: () => credentials(access),
        dispatcher,
        stallMs: STALL_MS,
      }),
    close: () => dispatcher.close(),
  };
}
