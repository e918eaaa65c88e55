/**
 * The HTTP client of the interface, typed by the contract. It validates
 * responses and does not retry.
 */

export {
  apiKeyCredential,
  type CredentialHeader,
} from '../orchestrator/client/api-key-credential.ts';
export {
  type CallOptions,
  createExchangeClient,
  type ExchangeClient,
  type ExchangeClientOptions,
  type RequestOf,
} from '../orchestrator/client/exchange-client.ts';
export {
  ExchangeCallError as ExchangeError,
  type FailureKind,
} from '../orchestrator/client/failures.ts';
export type { ResponseOf } from '../orchestrator/client/responses.ts';
