/** The interface over HTTP, typed by the contract: one call, one answer that was checked, no retries. */

export type { AnswerOf } from '../orchestrator/client/answers.ts';
export type { CredentialHeader } from '../orchestrator/client/credentials.ts';
export { apiKeyCredential } from '../orchestrator/client/credentials.ts';
export {
  type CallOptions,
  createExchangeClient,
  type ExchangeClient,
  type ExchangeClientOptions,
  type RequestOf,
} from '../orchestrator/client/exchange-client.ts';
export { ExchangeCallError as ExchangeError, type FailureKind } from '../orchestrator/client/failures.ts';
