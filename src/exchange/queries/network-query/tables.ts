import type { Generated } from 'kysely';
import type {
  RequestedSource,
  SourceError,
} from '../../../contract/network-query.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type {
  DefaultJsonColumn,
  Instant,
  JsonColumn,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';
import type { GatewayReason } from '../../sources/directory/rules/choose-gateways.ts';
import type { AttemptState, QueryState } from './rules/query-status.ts';

/** What an attempt and its part of one connection have in common. */
interface StepColumns {
  query_id: string;
  source: SourceType;
  attempt: number;
  account_id: string;
  reason: string | null;
  started_at: Instant;
  completed_at: Date | null;
  job: NullableJsonColumn<Record<string, unknown>>;
  cursor: NullableJsonColumn<Record<string, unknown>>;
  collected: Generated<boolean>;
  first_page_at: Date | null;
  pages: Generated<number>;
  resources: Generated<number>;
  strays: Generated<number>;
  documents: Generated<number>;
  /** Calls to the source that failed in a row. */
  failed_calls: Generated<number>;
  failing_since: Date | null;
  /** Why it waits before it calls the source again; null unless it does. */
  waiting_for: string | null;
  next_try_at: Date | null;
  /** For how long operators have kept it from calling its source. */
  paused_ms: Generated<number>;
  collection: NullableJsonColumn<Collection>;
}

interface NetworkQueryAttemptTable extends StepColumns {
  run: number;
  status: AttemptState;
  will_retry: Generated<boolean>;
  callback_hash: Buffer | null;
  callback_at: Date | null;
  /** Until when a step itself waits for the source's answer. */
  watched_until: Date | null;
  /** When the gateways of networks were chosen; null: none is asked. */
  gateways_chosen_at: Date | null;
  /** Number of the newest step on the gateways. */
  gateway_step: Generated<number>;
  /** When it began, or the workflow was last signalled to begin the next one. */
  gateway_step_at: Date | null;
  /** The workflow was told of a later answer since that step began. */
  is_told_of_answer: Generated<boolean>;
}

interface NetworkQueryPartTable extends StepColumns {
  connection_id: string;
  name: string;
  namespace: string;
  status: Generated<AttemptState>;
  failed_tries: Generated<number>;
}

/** How an attempt, or a part of it, asks its source. */
export interface Collection {
  startedAt: string;
  /** What decided which data was asked for. */
  basis: string;
  /** The person's Patient ids at the source. */
  patientIds: readonly string[];
  /**
   * Set when only changes are asked for: since when, and when everything was
   * last asked for.
   */
  since?: string;
  fullAt?: string;
  /**
   * By how much the source's own counts may differ from ours, by type: it also
   * counts what we do not keep.
   */
  differences?: Readonly<Record<string, number>>;
  /**
   * What the source counted when its counts differed, so that everything is
   * asked for.
   */
  counts?: Readonly<Record<string, number>>;
  /** Something that the source should have delivered is missing. */
  hasGaps?: boolean;
}

declare module '../../platform/database/schema.ts' {
  interface Database {
    network_query: {
      id: string;
      account_id: string;
      patient_id: string;
      purpose_of_use: 'treatment' | 'ias';
      origin: 'interactive' | 'monitoring' | 'bulk';
      metadata: NullableJsonColumn<Record<string, string>>;
      requested: JsonColumn<RequestedSource[]>;
      start_errors: DefaultJsonColumn<SourceError[]>;
      status: QueryState;
      started_at: Instant;
      ended_at: Date | null;
      /**
       * For a query with purpose `ias`, the challenge whose session it was
       * started under.
       */
      aal2_challenge_id: string | null;
    };
    network_query_run: {
      query_id: string;
      run: number;
      account_id: string;
      sources: SourceType[];
      requested_at: Instant;
      workflow_started_at: Date | null;
      /** The redrive that began the run. */
      redrive_id: string | null;
      ended_at: Date | null;
    };
    network_query_attempt: NetworkQueryAttemptTable;
    network_query_part: NetworkQueryPartTable;
    network_query_timeline: {
      id: Generated<string>;
      query_id: string;
      account_id: string;
      at: Instant;
      source: SourceType | null;
      attempt: number | null;
      kind: string;
      message: string;
      once_key: string | null;
      is_gap: Generated<boolean>;
    };
    abandoned_job: {
      id: Generated<string>;
      account_id: string;
      query_id: string;
      source: SourceType;
      attempt: number;
      /** Null: the default connection. */
      connection_id: string | null;
      purpose_of_use: 'treatment' | 'ias';
      job: JsonColumn<Record<string, unknown>>;
      noted_at: Instant;
      /** When the source last failed to acknowledge the cancellation. */
      tried_at: Date | null;
    };
    /**
     * The newest complete collection from a connection; no row: everything is
     * asked for next.
     */
    source_collection: {
      account_id: string;
      patient_id: string;
      source: SourceType;
      connection: string;
      basis: string;
      patient_ids: string[];
      /** When everything was last asked for, and when anything was. */
      full_at: Date;
      asked_at: Date;
      /** By how much the source's own counts differ from ours, by type. */
      differences: DefaultJsonColumn<Record<string, number>>;
    };
    deferred_discovery: {
      id: string;
      account_id: string;
      patient_id: string;
      /** The source, or the id of one of its connections. */
      connection: string;
      query_id: string;
      source: SourceType;
      attempt: number;
      run: number;
      asked_by: string;
      message_id: string;
      discovery_id: string;
      asked_at: Instant;
      answered_at: Date | null;
      /** The message, encrypted with the key ring. */
      answer: Buffer | null;
      used_by: string | null;
    };
    gateway_ask: {
      query_id: string;
      source: SourceType;
      attempt: number;
      gateway_id: string;
      account_id: string;
      patient_id: string;
      connection_id: string;
      home_community: string;
      place: number;
      because: GatewayReason;
      state: Generated<'open' | 'waiting' | 'found' | 'nobody' | 'failed'>;
      reason: string | null;
      tries: Generated<number>;
      next_try_at: Date | null;
      answers: Generated<number>;
      answers_used: Generated<number>;
      claimed_step: number | null;
      ended_at: Date | null;
    };
    source_candidate: {
      id: string;
      account_id: string;
      patient_id: string;
      /** The source, or the id of one of its connections. */
      connection: string;
      source: SourceType;
      source_patient_id: string;
      grade: string;
      agrees: string[];
      contradicts: string[];
      status: Generated<'open' | 'accepted' | 'refused'>;
      found_at: Instant;
      decided_at: Date | null;
    };
  }
}
