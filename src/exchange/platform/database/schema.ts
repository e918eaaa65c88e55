import type { ColumnType, Generated } from 'kysely';
import type { CohortSettings } from '../../../contract/cohorts.ts';
import type { RequestedSource, SourceError } from '../../../contract/network-query.ts';
import type { RecordSource, SourceType } from '../../../contract/primitives.ts';
import type { Scope } from '../../../contract/scope.ts';
import type { BulkTables } from '../../bulk-create/tables.ts';
import type { ConsolidatedTables } from '../../consolidated-query/tables.ts';
import type { DocumentTables } from '../../documents/tables.ts';
import type { EmbedTables } from '../../embed/tables.ts';
import type { IdentityTables } from '../../identity/tables.ts';
import type { MessageTables } from '../../messages/tables.ts';
import type { MonitoringTables } from '../../monitoring/tables.ts';
import type { NotificationTables } from '../../notifications/tables.ts';
import type { ErasureTables } from '../../patients/erasure-tables.ts';
import type { Address, Contact, Gender, PersonalIdentifier } from '../../patients/rules/demographics.ts';
import type { QuerySweepTables } from '../../query-sweep/tables.ts';
import type { RecordTables } from '../../records/tables.ts';
import type { AuditTables } from '../audit/tables.ts';
import type { WebhookTables } from '../outbox/tables.ts';
import type { ActivityStartTables } from '../recovery/tables.ts';
import type { DefaultJson, Instant, Json, NullableJson } from './columns.ts';

/** The tables of `migrations/`, as Kysely sees them. */
export interface Database
  extends ActivityStartTables,
    AuditTables,
    BulkTables,
    ConsolidatedTables,
    DocumentTables,
    EmbedTables,
    QuerySweepTables,
    ErasureTables,
    IdentityTables,
    MessageTables,
    MonitoringTables,
    NotificationTables,
    RecordTables,
    WebhookTables {
  account: AccountTable;
  api_key: ApiKeyTable;
  facility: FacilityTable;
  patient: PatientTable;
  patient_identity_key: { account_id: string; key: Buffer; patient_id: string };
  cohort: CohortTable;
  cohort_member: { account_id: string; cohort_id: string; patient_id: string; added_at: Generated<Date> };
  idempotency_key: IdempotencyKeyTable;
  network_query: NetworkQueryTable;
  rate_window: { account_id: string; name: string; window_start: Date; used: number };
  network_query_run: NetworkQueryRunTable;
  network_query_attempt: NetworkQueryAttemptTable;
  network_query_timeline: NetworkQueryTimelineTable;
  document: DocumentTable;
  patient_resource: PatientResourceTable;
}

export interface AccountSettings {
  sources?: Partial<Record<SourceType, { enabled: boolean }>>;
  limits?: {
    requestsPerMinute?: number;
    networkQueriesPerMinute?: number;
    consolidatedQueriesPerMinute?: number;
    messagesPerMinute?: number;
  };
  /** Sources that the queries after a bulk create ask; default hie. */
  bulk?: { sources?: SourceType[] };
  /** When scheduled monitoring may run: hours of the day in an IANA time zone; default 1 to 5 in America/New_York. */
  monitoring?: { timeZone?: string; fromHour?: number; toHour?: number };
  /** Direct addresses, in lower case, at which the account receives messages; by XDR it does at its facilities' OIDs. */
  messages?: { directAddresses?: string[] };
  /** Origins whose pages may embed the patient view; default none. */
  embed?: { frameAncestors?: string[] };
}

interface AccountTable {
  id: string;
  name: string;
  dialect: Generated<'interface' | 'published'>;
  settings: DefaultJson<AccountSettings>;
  created_at: Instant;
}

interface ApiKeyTable {
  id: string;
  account_id: string;
  prefix: string;
  hash: Buffer;
  label: string | null;
  scopes: Generated<Scope[]>;
  created_at: Instant;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

interface FacilityTable {
  id: string;
  account_id: string;
  oid: string;
  name: string;
  npi: string;
  tin: string | null;
  active: Generated<boolean>;
  address: Json<Address>;
  version: Generated<number>;
  created_at: Instant;
}

interface PatientTable {
  id: string;
  account_id: string;
  external_id: string | null;
  first_names: string[];
  last_names: string[];
  /** YYYY-MM-DD */
  dob: string;
  gender: Gender;
  addresses: Json<Address[]>;
  contacts: DefaultJson<Contact[]>;
  personal_identifiers: DefaultJson<PersonalIdentifier[]>;
  additional_identifiers: DefaultJson<Record<string, string[]>>;
  facility_ids: string[];
  hie_opt_out: Generated<boolean>;
  treatment_relationship: Generated<boolean>;
  version: Generated<number>;
  created_at: Instant;
  updated_at: Instant;
}

interface CohortTable {
  id: string;
  account_id: string;
  name: string;
  description: string;
  color: string;
  purpose_of_use: 'treatment' | 'operations';
  settings: Json<CohortSettings>;
  version: Generated<number>;
  created_at: Instant;
}

interface IdempotencyKeyTable {
  account_id: string;
  key_hash: Buffer;
  request_hash: Buffer;
  status: number | null;
  /** `{sealed}`. */
  answer: ColumnType<unknown, string | null | undefined, string | null>;
  /** Whom the answer is about. */
  patient_id: string | null;
  created_at: Instant;
}

export type QueryState = 'running' | 'completed' | 'partial' | 'failed';
export type AttemptState = 'running' | 'completed' | 'failed';

interface NetworkQueryTable {
  id: string;
  account_id: string;
  patient_id: string;
  purpose_of_use: 'treatment' | 'ias';
  origin: 'interactive' | 'monitoring' | 'bulk';
  metadata: NullableJson<Record<string, string>>;
  requested: Json<RequestedSource[]>;
  start_errors: DefaultJson<SourceError[]>;
  status: QueryState;
  started_at: Instant;
  ended_at: Date | null;
  /** Of a query with purpose ias: the session it was started under. */
  aal2_challenge_id: string | null;
}

interface NetworkQueryRunTable {
  query_id: string;
  run: number;
  account_id: string;
  sources: SourceType[];
  requested_at: Instant;
  workflow_started_at: Date | null;
  ended_at: Date | null;
}

interface NetworkQueryAttemptTable {
  query_id: string;
  source: SourceType;
  attempt: number;
  run: number;
  account_id: string;
  status: AttemptState;
  will_retry: Generated<boolean>;
  reason: string | null;
  started_at: Instant;
  completed_at: Date | null;
  callback_hash: Buffer | null;
  callback_at: Date | null;
  job: NullableJson<Record<string, unknown>>;
  cursor: NullableJson<Record<string, unknown>>;
  collected: Generated<boolean>;
  pages: Generated<number>;
  resources: Generated<number>;
  strays: Generated<number>;
  documents: Generated<number>;
}

interface NetworkQueryTimelineTable {
  id: Generated<string>;
  query_id: string;
  account_id: string;
  at: Instant;
  source: SourceType | null;
  attempt: number | null;
  kind: string;
  message: string;
  once_key: string | null;
}

interface DocumentTable {
  id: string;
  account_id: string;
  /** Null: of a message about somebody whom the account does not know. */
  patient_id: string | null;
  /** What brought it: a query, or a message. */
  query_id: string | null;
  message_id: ColumnType<string | null, string | null | undefined, never>;
  source: RecordSource;
  kind: 'page' | 'attachment';
  source_document_id: string | null;
  file_name: string;
  content_type: string;
  size_bytes: number;
  sha256: Buffer;
  blob_ref: string;
  created_at: Instant;
}

interface PatientResourceTable {
  account_id: string;
  patient_id: string;
  source: RecordSource;
  resource_type: string;
  source_id: string;
  document_id: string;
  sha256: Buffer;
  content: Json<Record<string, unknown>>;
  /** When and as which version its source wrote it, in text order; empty when it does not say. */
  revision: Generated<string>;
  /** The source's id of the C-CDA document that it was made of. */
  converted_from: string | null;
  collected_at: Instant;
}
