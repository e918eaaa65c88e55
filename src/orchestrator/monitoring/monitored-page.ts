import type { CohortMonitoringInput, CohortMonitoringStatus } from '../../contract/cohort-monitoring.ts';

/** Where in the cohort a run stands: a page of E9, and who of it is done. */
export interface Place {
  /** Cursor of the page; undefined for the first one. */
  fromItem?: string;
  /** Ids of the patients of this page that are done. */
  handled: string[];
  /** How often the exchange had no room for the patient whose turn it is. */
  refusals: number;
}

export const BEGINNING: Place = { handled: [], refusals: 0 };

export interface PageInput
  extends Pick<CohortMonitoringInput, 'exchange' | 'cohortId' | 'kind' | 'frequency'> {
  /** Nominal time of the run, ISO 8601. */
  dueAt: string;
  place: Place;
  pageSize: number;
  /** False once it is known that this exchange lists no queries. */
  canList: boolean;
}

export type Counts = Pick<CohortMonitoringStatus, 'started' | 'skipped' | 'failed'>;

/** What became of a page, or of a part of it. Small: it stays in the history. */
export interface MonitoredPage extends Counts {
  /** Undefined when this was the last patient of the cohort. */
  next?: Place;
  /** The exchange has no room now: go on from `next` after it. */
  waitMs?: number;
  canList: boolean;
  /** HTTP requests that were made. */
  requests: number;
  /** Requests per minute that the exchange says it allows this account. */
  requestLimit?: number;
  /** Patients of the cohort, as E9 tells it. */
  patients?: number;
  /** The exchange refused several in a row, and not for want of room. */
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
