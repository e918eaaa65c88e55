import { MONITORING_METADATA, type MonitoringFrequency } from '../../contract/cohort-monitoring.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The shortest distance between two nominal times of a schedule; the shortest month has 28 days. */
const PERIOD_MS: Readonly<Record<MonitoringFrequency, number>> = {
  weekly: 7 * DAY_MS,
  biweekly: 14 * DAY_MS,
  monthly: 28 * DAY_MS,
};

/** Nominal times follow local time, which shifts by an hour between summer and winter. */
const CLOCK_CHANGE_MS = 2 * HOUR_MS;

/** The members of a listed query that show when it was due or started. */
export interface ListedQuery {
  patientId?: string | null;
  startedAt: string;
  metadata?: Record<string, unknown> | null;
}

export interface RunIdentity {
  cohortId: string;
  kind: string;
  frequency: MonitoringFrequency;
  /** ISO 8601: nominal time of the run. */
  dueAt: string;
}

/**
 * Decides whether a patient was already queried in the period that ends with a run.
 *
 * A monitoring query counts from the nominal time of its run, however late it was started. So jitter, pacing, pauses and
 * outages never make a run skip a patient whom its schedule queried a whole period ago, and a patient in two cohorts is
 * queried once. Any other query counts from its start, and the period is shortened by a seventh for it: at an exchange that
 * lists no metadata, our own late queries look like this too (docs/decisions/0020).
 */
export class Period {
  readonly #dueMs: number;
  readonly #lengthMs: number;

  constructor(readonly run: RunIdentity) {
    this.#dueMs = Date.parse(run.dueAt);
    this.#lengthMs = PERIOD_MS[run.frequency];
  }

  /** `own`: this run itself started the query, before its worker was interrupted. */
  queriedBy(queries: readonly ListedQuery[]): 'own' | 'other' | 'none' {
    if (queries.some((query) => this.#isOwn(query))) return 'own';
    return queries.some((query) => this.#counts(query)) ? 'other' : 'none';
  }

  #isOwn({ metadata }: ListedQuery): boolean {
    const { cohortId, kind, due } = MONITORING_METADATA;
    return (
      metadata?.[cohortId] === this.run.cohortId &&
      metadata[kind] === this.run.kind &&
      dueOf(metadata[due]) === this.#dueMs
    );
  }

  #counts({ metadata, startedAt }: ListedQuery): boolean {
    const dueMs = dueOf(metadata?.[MONITORING_METADATA.due]);
    if (dueMs !== undefined) return dueMs > this.#dueMs - this.#lengthMs + CLOCK_CHANGE_MS;
    return Date.parse(startedAt) > this.#dueMs - (this.#lengthMs * 6) / 7;
  }
}

function dueOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
