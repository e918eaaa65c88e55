import type { Dispatcher } from 'undici';
import type { AssertionSigner } from './client-assertion.ts';
import type { SharedTokens } from './shared-tokens.ts';

/** What requests for a token need of the process. */
export interface TokenDeps {
  dispatcher: Dispatcher;
  now: () => number;
  /** Signs client assertions; needed for sources that authenticate us by a key. */
  signer?: AssertionSigner;
  /** Shares tokens with the other workers. Default: this process has tokens of its own. */
  sharedTokens?: SharedTokens;
}
