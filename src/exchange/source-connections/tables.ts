import type { JWK } from 'jose';
import type { Instant, JsonColumn } from '../platform/database/columns.ts';
import type { AssertionAlgorithm } from '../sources/http/auth/client-assertion.ts';

export interface SourceConnectionTables {
  source_signing_key: SourceSigningKeyTable;
  source_token: SourceTokenTable;
}

interface SourceSigningKeyTable {
  kid: string;
  algorithm: AssertionAlgorithm;
  public_jwk: JsonColumn<JWK>;
  /** A JWK, encrypted with the key ring; null once the key is no longer published. */
  private_key: Buffer | null;
  created_at: Instant;
  signs_from: Date;
  published_until: Date | null;
}

interface SourceTokenTable {
  name: string;
  sealed: Buffer | null;
  renew_at: Date | null;
  ends_at: Date | null;
  requested_until: Date | null;
}
