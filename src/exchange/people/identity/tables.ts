import type { Metadata } from '../../../contract/network-query.ts';
import type {
  Instant,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';

export type VerificationState = 'pending' | 'verified' | 'failed';

interface VerificationColumns {
  id: string;
  account_id: string;
  redirect_url: string;
  status: VerificationState;
  reason: string | null;
  created_at: Instant;
  expires_at: Date;
  ended_at: Date | null;
}

declare module '../../platform/database/schema.ts' {
  interface Database {
    identity_session: VerificationColumns & {
      patient_id: string;
      metadata: NullableJsonColumn<Metadata>;
    };
    proofed_identity: {
      id: string;
      account_id: string;
      patient_id: string;
      session_id: string;
      subject: string;
      verified_at: Date;
    };
    aal2_challenge: VerificationColumns & {
      proofed_identity_id: string;
      session_hash: Buffer | null;
      session_expires_at: Date | null;
    };
  }
}
