import type { Generated } from 'kysely';
import type {
  MessageDirection,
  MessageNetwork,
  MessageStatus,
  TransportMethod,
} from '../../../contract/messages.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    message: {
      id: string;
      account_id: string;
      patient_id: string | null;
      direction: MessageDirection;
      status: MessageStatus;
      transport_method: TransportMethod;
      network: MessageNetwork | null;
      destination: string;
      subject: string;
      body: string | null;
      attachments: Generated<string[]>;
      intended_recipient_npi: Generated<string[]>;
      reason: string | null;
      partner_key: Buffer | null;
      /** True until its attachments have been converted and merged. */
      to_be_read: Generated<boolean>;
      sent_at: Instant;
      updated_at: Instant;
      workflow_started_at: Date | null;
    };
  }
}
