import type { Metadata } from '../../../contract/network-query.ts';
import type { Instant, NullableJsonColumn } from '../../platform/database/schema.ts';

export interface IdentityTables {
  identity_session: IdentitySessionTable;
  proofed_identity: ProofedIdentityTable;
  aal2_challenge: Aal2ChallengeTable;
}

export type VerificationState = 'pending' | 'verified' | 'failed';

interface IdentitySessionTable {
  id: string;
  account_id: string;
  patient_id: string;
  redirect_url: string;
  metadata: NullableJsonColumn<Metadata>;
  status: VerificationState;
  reason: string | null;
  created_at: Instant;
  expires_at: Date;
  ended_at: Date | null;
}

interface ProofedIdentityTable {
  id: string;
  account_id: string;
  patient_id: string;
  session_id: string;
  subject: string;
  verified_at: Date;
}

interface Aal2ChallengeTable {
  id: string;
  account_id: string;
  proofed_identity_id: string;
  redirect_url: string;
  status: VerificationState;
  reason: string | null;
  created_at: Instant;
  expires_at: Date;
  ended_at: Date | null;
  session_hash: Buffer | null;
  session_expires_at: Date | null;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends IdentityTables {}
}
