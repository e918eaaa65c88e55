import type { AccountTables } from '../../access/accounts/tables.ts';
import type { BulkTables } from '../../people/bulk-create/tables.ts';
import type { BulkExportTables } from '../../delivery/bulk-export/tables.ts';
import type { CohortTables } from '../../people/cohorts/tables.ts';
import type { ConsentTables } from '../../people/consents/tables.ts';
import type { ConsolidatedTables } from '../../delivery/consolidated-query/tables.ts';
import type { DocumentTables } from '../../delivery/documents/tables.ts';
import type { EmbedTables } from '../../access/embed-tokens/tables.ts';
import type { FacilityTables } from '../../people/facilities/tables.ts';
import type { FhirClientTables } from '../../access/fhir-clients/tables.ts';
import type { IdentityTables } from '../../people/identity/tables.ts';
import type { MessageTables } from '../../messaging/messages/tables.ts';
import type { MonitoringTables } from '../../people/monitoring/tables.ts';
import type { NetworkQueryTables } from '../../queries/network-query/tables.ts';
import type { NotificationTables } from '../../messaging/notifications/tables.ts';
import type { ErasureTables } from '../../people/patients/erasure-tables.ts';
import type { PatientTables } from '../../people/patients/tables.ts';
import type { PossibleDuplicateTables } from '../../people/possible-duplicates/tables.ts';
import type { QueryRedriveTables } from '../../queries/redrive/tables.ts';
import type { QuerySweepTables } from '../../queries/sweep/tables.ts';
import type { RecordTables } from '../../records/tables.ts';
import type { RetentionTables } from '../../operations/retention/tables.ts';
import type { SourceConnectionTables } from '../../sources/connections/tables.ts';
import type { SourceHealthTables } from '../../sources/health/tables.ts';
import type { ChangeCheckTables, SourceBudgetTables } from '../../sources/connectors/tables.ts';
import type { AuditTables } from '../audit/tables.ts';
import type { IdempotencyTables } from '../http/tables.ts';
import type { LimitTables } from '../limits/tables.ts';
import type { WebhookTables } from '../outbox/tables.ts';
import type { ActivityStartTables, ReconcileStateTables } from '../recovery/tables.ts';

/** The types of all tables in `migrations/`, for Kysely. Each feature declares its own in `tables.ts`. */
export interface Database
  extends AccountTables,
    ActivityStartTables,
    ReconcileStateTables,
    AuditTables,
    BulkExportTables,
    BulkTables,
    ChangeCheckTables,
    CohortTables,
    ConsentTables,
    ConsolidatedTables,
    DocumentTables,
    EmbedTables,
    ErasureTables,
    FacilityTables,
    FhirClientTables,
    IdempotencyTables,
    IdentityTables,
    LimitTables,
    MessageTables,
    MonitoringTables,
    NetworkQueryTables,
    NotificationTables,
    PatientTables,
    PossibleDuplicateTables,
    QueryRedriveTables,
    QuerySweepTables,
    RecordTables,
    RetentionTables,
    SourceConnectionTables,
    SourceBudgetTables,
    SourceHealthTables,
    WebhookTables {}
