import type { Generated } from 'kysely';
import type {
  MessageDirection,
  MessageNetwork,
  MessageStatus,
  TransportMethod,
} from '../../../contract/messages.ts';
import type { TrustBundleRefreshed } from '../../../contract/trust-bundle-workflow.ts';
import type {
  DefaultJsonColumn,
  JsonColumn,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';
import type { MailboxSettings } from './direct/mailbox-settings.ts';
import type { RefusedAnchor } from './direct/trust-bundles/bundle-store.ts';

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
    direct_mailbox: {
      account_id: string;
      settings: JsonColumn<MailboxSettings>;
      /** `MailboxCredentials`, encrypted with the key ring. */
      credentials: Buffer;
      /** Null: to be read from its beginning. */
      uid_validity: string | null;
      last_uid: Generated<number>;
      /** Everything that had arrived by then has been taken in. */
      read_through: Date | null;
      fault: string | null;
      changed_at: Instant;
    };
    trust_bundle: {
      name: string;
      origin: string;
      refresh_hours: number;
      /** PEM of who must have signed it. */
      signed_by: string | null;
      /** PEM of its anchors; null before it was read once. */
      anchors: string | null;
      counts: NullableJsonColumn<TrustBundleRefreshed>;
      refused: DefaultJsonColumn<RefusedAnchor[]>;
      loaded_at: Date | null;
      fault: string | null;
      checked_at: Date | null;
      changed_at: Instant;
    };
    /** Revocation lists that could not be read the last time. */
    revocation_fault: {
      address: string;
      fault: string;
      since: Instant;
      checked_at: Instant;
    };
    direct_delivery: {
      message_id: string;
      account_id: string;
      handed_over_at: Date | null;
      asks_for_dispatched: Generated<boolean>;
      processed_at: Date | null;
      dispatched_at: Date | null;
      failed_at: Date | null;
    };
  }
}
