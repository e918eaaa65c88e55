import type { Generated } from 'kysely';
import type { JsonColumn } from '../../platform/database/schema.ts';
import type { MembershipSettings } from './membership-settings.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    network_membership: {
      id: string;
      account_id: string;
      name: string;
      /** PEM. */
      trusted: string;
      settings: JsonColumn<MembershipSettings>;
      enabled: Generated<boolean>;
      created_at: Instant;
      changed_at: Instant;
    };
    network_message: {
      membership_id: string;
      account_id: string;
      key: Buffer;
      ends_at: Date;
    };
    deferred_question: {
      id: string;
      account_id: string;
      membership_id: string;
      community: string;
      respond_to: string;
      /** JSON, encrypted with the key ring. */
      question: Buffer | null;
      asked_at: Instant;
      first_sent_at: Date | null;
      ended_at: Date | null;
      outcome: 'delivered' | 'failed' | null;
      workflow_started_at: Date | null;
    };
    document_sha1: {
      document_id: string;
      account_id: string;
      /** Hexadecimal. */
      sha1: string;
    };
  }
}
