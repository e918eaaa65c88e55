import type {
  MonitoringFrequency,
  MonitoringKind,
} from '../../../contract/cohort-monitoring.ts';
import type { NullableJsonColumn } from '../../platform/database/schema.ts';

/**
 * The settings that a cohort's schedule follows: its own and those of its
 * account.
 */
export type WantedSchedule =
  | { enabled: false }
  | {
      enabled: true;
      /** The name of the cohort. */
      name: string;
      frequency: MonitoringFrequency;
      /** `settings.monitoring` of the account, not validated. */
      hours: unknown;
      /** Null when the account has no limit of its own. */
      networkQueriesPerMinute: number | null;
    };

declare module '../../platform/database/schema.ts' {
  interface Database {
    cohort_schedule: {
      cohort_id: string;
      kind: MonitoringKind;
      account_id: string;
      applied: NullableJsonColumn<WantedSchedule>;
      rules: number | null;
      fingerprint: Buffer | null;
      checked_at: Date | null;
      held_until: Date | null;
    };
    /** A view. */
    wanted_cohort_schedule: {
      account_id: string;
      cohort_id: string;
      kind: MonitoringKind;
      wanted: WantedSchedule;
    };
  }
}
