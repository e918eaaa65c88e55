import type { ColumnType, Generated } from 'kysely';
import type { RecordSource } from '../../contract/primitives.ts';
import type { NullableJsonColumn } from '../platform/database/schema.ts';
import type { ExclusionReason } from './rules/delivery-facts.ts';
import type { RetireReason } from './rules/retirement.ts';

/**
 * `superseded`: a newer version of the same document arrived before this one
 * was converted.
 */
export type ConversionOutcome =
  | 'converted'
  | 'superseded'
  | 'not-cda'
  | 'skipped'
  | 'failed';

/** A resource as its source delivered it. */
interface DeliveredColumns {
  account_id: string;
  patient_id: string;
  source: RecordSource;
  resource_type: string;
  source_id: string;
  document_id: string;
  sha256: Buffer;
  /** The C-CDA document that it was converted from, by its resource. */
  converted_from: string | null;
}

/** Its row. The content is there, or in a pack (0670-resource-packs.sql). */
interface ResourceColumns extends DeliveredColumns {
  content: NullableJsonColumn<Record<string, unknown>>;
  pack: Generated<number | null>;
  /** From 0. */
  place: Generated<number | null>;
}

/** Where a delivery is in the record, by the last merge. */
interface OriginPlaceColumns {
  account_id: string;
  patient_id: string;
  source: RecordSource;
  resource_type: string;
  source_id: string;
  sha256: Buffer;
  rules: number;
  resource_id: string | null;
  exclusion: ExclusionReason | null;
  rank: string;
  leads: boolean;
  /** A newer version of its statement leads; nothing of it counts. */
  superseded: Generated<boolean>;
  medication_id: string | null;
  sort_date: string;
  /** YYYY-MM-DD */
  date_from: string | null;
  /** YYYY-MM-DD or `infinity` */
  date_to: string | null;
}

/** What only merging and searching read of a delivery. */
interface OriginFactColumns {
  family_id: string | null;
  keys: string[];
  assertions: ColumnType<Record<string, string>, string, string>;
  search: Generated<string[]>;
}

declare module '../platform/database/schema.ts' {
  interface Database {
    /** Read and written by SQL only. */
    record_arrival: object;
    document: {
      id: string;
      account_id: string;
      /** Null for a message that could not be assigned to a patient. */
      patient_id: string | null;
      /** The query that delivered it; null if it came otherwise. */
      query_id: string | null;
      message_id: ColumnType<string | null, string | null | undefined, never>;
      contribution_id: ColumnType<
        string | null,
        string | null | undefined,
        never
      >;
      /**
       * The encounter, fill or result that a notification delivered it with.
       */
      subject_id: ColumnType<string | null, string | null | undefined, never>;
      /** Files of a subject with the same number were delivered together. */
      delivery: ColumnType<number | null, number | null | undefined, never>;
      source: RecordSource;
      kind: 'page' | 'attachment';
      /** The resource at the source whose file it is (`fileKeyOf`). */
      source_document_id: string | null;
      file_name: string;
      content_type: string;
      size_bytes: number;
      sha256: Buffer;
      blob_ref: string;
      created_at: Instant;
    };
    /**
     * `revision`: `meta.lastUpdated` and `meta.versionId` in text order (see
     * `revisionOf`); empty when the source gives neither.
     */
    patient_resource: ResourceColumns & {
      revision: Generated<string>;
      collected_at: Instant;
      standing: NullableJsonColumn<Record<string, unknown>>;
    };
    /** `patient_resource` with each content, wherever it is: a view. */
    delivered_resource: DeliveredColumns & {
      content: Record<string, unknown>;
      revision: string;
      collected_at: Date;
      /** What of the content is asked of resources with documents. */
      standing: Record<string, unknown> | null;
    };
    /** Read and written by SQL only. */
    resource_pack: object;
    packing: object;
    record_to_pack: object;
    patient_at_source: {
      account_id: string;
      patient_id: string;
      source: RecordSource;
      source_patient_id: string;
    };
    record_origin: OriginPlaceColumns & OriginFactColumns;
    /** What places a delivery in the record, wherever that is kept: a view. */
    merged_place: OriginPlaceColumns;
    /** All that the merge knows of a delivery, wherever that is kept: a view. */
    merged_origin: OriginPlaceColumns & OriginFactColumns;
    /** `merged_place` of the deliveries that are in packs: a view. */
    packed_place: OriginPlaceColumns;
    /** Read and written by SQL only. */
    origin_pack: object;
    /** A consolidated resource, also after it has gone. */
    record_resource: {
      account_id: string;
      patient_id: string;
      resource_type: string;
      resource_id: string;
      provenance_id: string;
      changed_at: Date;
      gone_at: Date | null;
    };
    record_key: {
      account_id: string;
      patient_id: string;
      resource_type: string;
      key: string;
      /** Id of the family that owns the key (`record_origin.family_id`). */
      resource_id: string;
    };
    /** A delivery that stays a resource of its own. */
    record_split: {
      account_id: string;
      patient_id: string;
      source: RecordSource;
      resource_type: string;
      source_id: string;
      split_at: Instant;
    };
    document_conversion: {
      document_id: string;
      account_id: string;
      patient_id: string;
      outcome: ConversionOutcome;
      reason: string | null;
      resources: Generated<number>;
      /** Number of the conversion rules that led to it. */
      rules: Generated<number>;
      cda_id: string | null;
      cda_set: string | null;
      cda_version: string | null;
      cda_replaces: string[] | null;
      converted_at: Instant;
    };
    /**
     * A resource that its source deleted or moved to another person; no longer
     * part of the record.
     */
    retired_resource: ResourceColumns & {
      revision: string;
      collected_at: Date;
      retired_at: Instant;
      reason: RetireReason;
      /** The attempt that noticed; null if a notification did. */
      query_id: string | null;
      attempt: number | null;
      subject_id: ColumnType<string | null, string | null | undefined, never>;
    };
    /**
     * The resources that a page of a running attempt contained, as `Type/id`.
     */
    answered_page: {
      query_id: string;
      source: RecordSource;
      attempt: number;
      page: number;
      account_id: string;
      /** The connection that answered; null: the default one. */
      connection_id: string | null;
      resources: string[];
      is_partial: boolean;
    };
  }
}
