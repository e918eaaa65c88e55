import type { SourceType } from '../../../contract/primitives.ts';
import type { NullableJsonColumn } from '../../platform/database/schema.ts';
import type { StatedConsent } from './rules/fhir-consent.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    consent: {
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
      /**
       * Security labels of HL7 that it is about; empty: it is about sources.
       */
      labels: string[];
      /** Until when what it releases is marked as changed. */
      released_until: Instant;
    };
  }
}
