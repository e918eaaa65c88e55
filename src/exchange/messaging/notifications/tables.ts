import type { Generated } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type {
  JsonColumn,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';

type SubjectKind = 'encounter' | 'pharmacy' | 'laboratory' | 'clinical';

/**
 * The outcome of a message: whether it matched a patient, and whether an
 * account was notified.
 */
export type InboundOutcome =
  /** At least one account was notified, now or before. */
  | 'matched'
  /**
   * A patient matched, but no cohort of the patient has the feature enabled.
   */
  | 'not-monitored'
  /** No patient matched. */
  | 'unmatched'
  /** Several patients of one account fit. */
  | 'ambiguous'
  /**
   * Neither this message nor an earlier one describes the person sufficiently.
   */
  | 'incomplete'
  /**
   * A merge of two records, or a change of a person, about which no other
   * message had arrived.
   */
  | 'merged'
  /** Its record was another person's: somebody has to decide. */
  | 'held'
  /** Somebody decided that it counts; it is applied soon. */
  | 'accepted'
  /** Somebody decided that it does not count. */
  | 'refused';

declare module '../../platform/database/schema.ts' {
  interface Database {
    inbound_subject: {
      id: string;
      sender: string;
      kind: SubjectKind;
      source_key: Buffer;
      record_key: Buffer | null;
      state: NullableJsonColumn<Record<string, unknown>>;
      /** See match.ts. Null: not computed yet. */
      match_keys: Buffer[] | null;
      /** See person-keys.ts. Null: not computed yet. */
      person_keys: Buffer[] | null;
      updated_at: Instant;
    };
    inbound_message: {
      id: string;
      sender: string;
      message_key: Buffer;
      control_key: Buffer;
      is_number_reused: Generated<boolean>;
      unused: Generated<string[]>;
      filled: string[] | null;
      own_codes: string[] | null;
      format: 'hl7v2' | 'fhir';
      kind: SubjectKind | 'merge' | 'person';
      trigger: string;
      recorded_at: Date;
      sent_at: Date | null;
      received_at: Instant;
      content: JsonColumn<BlobRef>;
      time_zone: string;
      outcome: InboundOutcome;
    };
    inbound_event: {
      subject_id: string;
      message_id: string;
      record_key: Buffer | null;
      describes_person: boolean;
      is_held: Generated<boolean>;
      content: JsonColumn<Record<string, unknown>>;
    };
    inbound_number: {
      subject_id: string;
      sender: string;
      number_key: Buffer;
      authority_key: Buffer;
      role: 'identifies' | 'own' | 'refers';
    };
    inbound_merge: {
      message_id: string;
      sender: string;
      prior_key: Buffer;
      surviving_key: Buffer;
      recorded_at: Date;
    };
    notification: {
      id: string;
      account_id: string;
      patient_id: string;
      subject_id: string;
      type: string;
      fact_key: string;
      sender: string;
      occurred_at: Date | null;
      sent_at: Date | null;
      notified_at: Instant;
      withdrawn_at: Date | null;
    };
    discharge_follow_up: {
      notification_id: string;
      account_id: string;
      patient_id: string;
      state: Generated<'open' | 'new-data' | 'no-new-data' | 'cancelled'>;
      reason: string | null;
      rounds: Generated<number>;
      query_ids: Generated<string[]>;
      started_at: Instant;
      ended_at: Date | null;
      workflow_started_at: Date | null;
    };
    patient_to_match: {
      id: Generated<string>;
      account_id: string;
      patient_id: string;
      noted_at: Instant;
      matched_until: string | null;
    };
    recorded_subject: {
      patient_id: string;
      subject_id: string;
      account_id: string;
      is_about: boolean;
      wanted: Generated<number>;
      recorded: Generated<number>;
      to_be_read: Generated<boolean>;
      changed_at: Instant;
    };
  }
}
