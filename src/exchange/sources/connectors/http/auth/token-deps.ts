import type { Dispatcher } from 'undici';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import type { AssertionSigner } from './client-assertion.ts';

/** What requests for a token need of the process. */
export interface TokenDeps {
  dispatcher: Dispatcher;
  now: () => number;
  /** Signs client assertions; needed for sources that authenticate us by a key. */
  signer?: AssertionSigner;
  /** Shares tokens with the other workers. Default: this process has tokens of its own. */
  sharedTokens?: SharedTokens;
}

export interface IssuedToken {
  /** The value of the Authorization header. */
  authorization: string;
  renewAtMs: number;
  endsAtMs: number;
  /** Asked for and not granted. */
  missingScopes?: readonly string[];
}

/** Tokens that several workers use together, so that a source is asked for one token and not for one per process. */
export interface SharedTokens {
  /** The token of a connection; one worker at a time calls `request` when there is none, or when it is due for renewal. */
  obtain(config: ResolvedSourceConfig, request: () => Promise<IssuedToken>): Promise<IssuedToken>;
  /** Forgets a token that the source rejected, unless another one has replaced it. */
  discard(config: ResolvedSourceConfig, authorization: string): Promise<void>;
}

/** Nothing is shared: each process requests its own tokens. */
export const separateTokens: SharedTokens = {
  obtain: (_config, request) => request(),
  discard: async () => undefined,
};
