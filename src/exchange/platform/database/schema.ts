import type { AccountTables } from '../../accounts/tables.ts';
import type { BulkTables } from '../../bulk-create/tables.ts';
import type { BulkExportTables } from '../../bulk-export/tables.ts';
import type { CohortTables } from '../../cohorts/tables.ts';
import type { ConsentTables } from '../../consents/tables.ts';
import type { ConsolidatedTables } from '../../consolidated-query/tables.ts';
import type { DocumentTables } from '../../documents/tables.ts';
import type { EmbedTables } from '../../embed/tables.ts';
import type { FacilityTables } from '../../facilities/tables.ts';
import type { FhirClientTables } from '../../fhir-clients/tables.ts';
import type { IdentityTables } from '../../identity/tables.ts';
import type { MessageTables } from '../../messages/tables.ts';
import type { MonitoringTables } from '../../monitoring/tables.ts';
import type { NetworkQueryTables } from '../../network-query/tables.ts';
import type { NotificationTables } from '../../notifications/tables.ts';
import type { ErasureTables } from '../../patients/erasure-tables.ts';
import type { PatientTables } from '../../patients/tables.ts';
import type { PossibleDuplicateTables } from '../../possible-duplicates/tables.ts';
import type { QueryRedriveTables } from '../../query-redrive/tables.ts';
import type { QuerySweepTables } from '../../query-sweep/tables.ts';
import type { RecordTables } from '../../records/tables.ts';
import type { RetentionTables } from '../../retention/tables.ts';
import type { SourceConnectionTables } from '../../source-connections/tables.ts';
import type { SourceHealthTables } from '../../source-health/tables.ts';
import type { ChangeCheckTables, SourceBudgetTables } from '../../sources/tables.ts';
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
