import type { Metadata } from '../../../contract/network-query.ts';
import type { NullableJsonColumn } from '../../platform/database/schema.ts';

export type VerificationState = 'pending' | 'verified' | 'failed';

declare module '../../platform/database/schema.ts' {
  interface Database {
    identity_session: {
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
    };
    proofed_identity: {
      id: string;
      account_id: string;
      patient_id: string;
      session_id: string;
      subject: string;
      verified_at: Date;
    };
    aal2_challenge: {
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
    };
  }
}
