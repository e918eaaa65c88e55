import type { SourceType } from '../../../contract/primitives.ts';
import type { Instant, NullableJsonColumn } from '../../platform/database/schema.ts';
import type { StatedConsent } from './rules/fhir-consent.ts';

export interface ConsentTables {
  consent: ConsentTable;
  sensitivity_policy: SensitivityPolicyTable;
  sensitive_code: SensitiveCodeTable;
}

interface ConsentTable {
  id: string;
  account_id: string;
  patient_id: string;
  decision: 'permit' | 'deny';
  /** Empty: all. */
  sources: SourceType[];
  /** Empty: all. */
  purposes: Array<'treatment' | 'ias'>;
  period_start: Date | null;
  period_end: Date | null;
  /** Null: made by the flag hieOptOut. */
  resource: NullableJsonColumn<StatedConsent>;
  recorded_at: Instant;
  recorded_by: string | null;
  ended_at: Date | null;
  ended_by: string | null;
  /** Security labels of HL7 that it is about; empty: it is about sources. */
  labels: string[];
}

/** The labels that an account withholds unless a patient's consent permits them. */
interface SensitivityPolicyTable {
  account_id: string;
  labels: string[];
  changed_at: Instant;
}

/** A code for which a resource counts as labelled; of all accounts. */
interface SensitiveCodeTable {
  label: string;
  system: string;
  code: string;
  loaded_at: Instant;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends ConsentTables {}
}
