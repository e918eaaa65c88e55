/**
 * The HTTP client of the interface, typed by the contract. It validates
 * responses and does not retry.
 */

export type { FileStore } from '../orchestrator/bulk-onboarding/file-store.ts';
export type { CredentialHeader } from '../orchestrator/client/credentials.ts';
export { apiKeyCredential } from '../orchestrator/client/credentials.ts';
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
/**
 * Where the files of `bulkOnboarding` are put: the address and keys of its
 * workers.
 */
export { openBlobStore as openFileStore } from '../shared/blobs/open-blob-store.ts';
