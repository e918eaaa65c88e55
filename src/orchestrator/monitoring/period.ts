import { MONITORING_METADATA, type MonitoringFrequency } from '../../contract/cohort-monitoring.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** No two nominal times of one schedule are closer: the shortest month has 28 days. */
const PERIOD_MS: Readonly<Record<MonitoringFrequency, number>> = {
  weekly: 7 * DAY_MS,
  biweekly: 14 * DAY_MS,
  monthly: 28 * DAY_MS,
};

/** A local hour moves by one between summer and winter, and nominal times with it. */
const CLOCK_CHANGE_MS = 2 * HOUR_MS;

/** One query of the list, as far as it tells when it was asked. */
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
 * Decides whether a patient was asked about in the period that ends with a run.
 *
 * A query of monitoring counts as of the nominal time of its run, however late it was started: so neither jitter nor
 * pace, pause or outage makes a run skip what its own schedule asked a period ago, and two cohorts of one patient ask
 * once between them. Another query counts as of its start, with a seventh of the period to spare, because at an
 * exchange that lists no metadata our own late queries look like that too.
 */
export class Period {
  readonly #dueMs: number;
  readonly #lengthMs: number;

  constructor(readonly run: RunIdentity) {
    this.#dueMs = Date.parse(run.dueAt);
    this.#lengthMs = PERIOD_MS[run.frequency];
  }

  /** `own`: this run has started it, before its worker was cut off. */
  askedBy(queries: readonly ListedQuery[]): 'own' | 'another' | 'nobody' {
    if (queries.some((query) => this.#isOwn(query))) return 'own';
    return queries.some((query) => this.#counts(query)) ? 'another' : 'nobody';
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
