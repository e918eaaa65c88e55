import type {
  CohortMonitoringInput,
  CohortMonitoringStatus,
} from '../../contract/cohort-monitoring.ts';

/**
 * A run's position in the cohort: a page of E9, and the patients of it that are
 * done.
 */
export interface CohortPlace {
  /** Cursor of the page; undefined for the first one. */
  fromItem?: string;
  /** Ids of the patients of this page that are done. */
  handled: string[];
  /** How often the query of the current patient was rate-limited. */
  refusals: number;
}

export const BEGINNING: CohortPlace = { handled: [], refusals: 0 };

export interface PageInput
  extends Pick<
    CohortMonitoringInput,
    'exchange' | 'cohortId' | 'kind' | 'frequency'
  > {
  /** Nominal time of the run, ISO 8601. */
  dueAt: string;
  place: CohortPlace;
  pageSize: number;
  /** False once the exchange has proved unable to list queries. */
  canList: boolean;
}

export type MonitoringCounts = Pick<
  CohortMonitoringStatus,
  'started' | 'skipped' | 'failed'
>;

/**
 * The outcome of a page, or of a part of it. Kept small, because it stays in
 * the workflow's history.
 */
export interface MonitoredPage extends MonitoringCounts {
  /** Undefined when this was the last patient of the cohort. */
  next?: CohortPlace;
  /**
   * The exchange's rate limit is reached: continue from `next` after this wait.
   */
  waitMs?: number;
  canList: boolean;
  /** Number of HTTP requests made. */
  requests: number;
  /**
   * Requests per minute that the exchange allows this account, according to its
   * headers.
   */
  requestLimit?: number;
  /** Number of patients in the cohort, according to E9. */
  patients?: number;
  /**
   * The exchange refused several queries in a row, for a reason other than a
   * rate limit.
   */
  refused?: boolean;
}

export const nothingYet = ({ place, canList }: PageInput): MonitoredPage => ({
  started: 0,
  skipped: { alreadyAsked: 0, optedOut: 0, gone: 0 },
  failed: 0,
  next: place,
  canList,
  requests: 0,
});
