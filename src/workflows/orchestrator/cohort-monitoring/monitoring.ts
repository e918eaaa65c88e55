import {
  ActivityCancellationType,
  ApplicationFailure,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type {
  MonitoredPage,
  MonitoringActivities,
  PageInput,
} from '../../../activities/orchestrator/cohort-monitoring.ts';
import type {
  CohortMonitoringInput,
  CohortMonitoringStatus,
  MonitoringPace,
} from '../../../contract/cohort-monitoring.ts';
import type { Gate } from '../../shared/gate.ts';
import { pageWithin } from '../../shared/pacing.ts';
import type { PageDone } from '../../shared/work-in-pages.ts';
import { callFailure } from '../patient-onboarding/failures.ts';
import { detailsOf } from './details.ts';

/** What a run hands on to the next one. */
export interface MonitoringState {
  status: CohortMonitoringStatus;
  place: PageInput['place'];
  canList: boolean;
  /** Requests per minute that the exchange allows, when it says so. */
  requestLimit?: number;
}

/** Of the requests that an exchange allows an account; the rest is for others. */
const SHARE_OF_REQUESTS = 1 / 3;
const COHORT_GONE = 'The cohort was deleted while its patients were asked about; the rest is left out';
const CANNOT_LIST =
  'This exchange lists no queries: a patient of several cohorts is asked about once for each of them';

/**
 * Retried for as long as idempotency keys are kept, less an hour. A page that is cancelled ends with what it has
 * done, so that it is counted.
 */
const { monitorPage } = proxyActivities<MonitoringActivities>({
  startToCloseTimeout: '30 minutes',
  scheduleToCloseTimeout: '23 hours',
  heartbeatTimeout: '15 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '2 seconds', maximumInterval: '2 minutes' },
  summary: 'Ask for the patients of a page',
});

/** Where one run stands and what it does with a page; the workflow only wires it. */
export class Monitoring {
  state: MonitoringState;

  constructor(
    readonly input: CohortMonitoringInput,
    readonly pace: MonitoringPace,
    readonly gate: Gate,
    begin: MonitoringState | string,
  ) {
    this.state = typeof begin === 'string' ? beginning(input, begin) : begin;
    this.#tell();
  }

  get status(): CohortMonitoringStatus {
    return this.state.status;
  }

  async nextPage(): Promise<PageDone> {
    const { exchange, cohortId, kind, frequency, queriesPerMinute } = this.input;
    const { place, canList } = this.state;
    const page = await this.#askPage({
      exchange,
      cohortId,
      kind,
      frequency,
      dueAt: this.status.dueAt,
      place,
      canList,
      pageSize: pageWithin(this.pace.pageSize, queriesPerMinute),
    });
    if (page === undefined) return { isLast: true, uses: [] };
    this.#add(page);
    if (page.refused === true && this.status.started === 0) throw refused(kind);
    return {
      isLast: page.next === undefined,
      uses: [
        { count: page.started, perMinute: queriesPerMinute },
        { count: page.requests, perMinute: this.#requestsPerMinute },
      ],
      wait:
        page.waitMs === undefined
          ? undefined
          : { ms: page.waitMs, why: 'The exchange has no room now: wait as long as it says' },
    };
  }

  /** Undefined when the cohort, known until then, is there no more: what its owner wanted is no failure. */
  async #askPage(input: PageInput): Promise<MonitoredPage | undefined> {
    try {
      return await monitorPage(input);
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      const wasThere = this.status.patients > 0;
      if (failure.kind !== 'not-found' || !wasThere)
        throw ApplicationFailure.nonRetryable(failure.message, failure.kind);
      this.status.notes.push(COHORT_GONE);
      return undefined;
    }
  }

  get #requestsPerMinute(): number {
    const { requestLimit } = this.state;
    if (this.input.pace?.requestsPerMinute !== undefined || requestLimit === undefined)
      return this.pace.requestsPerMinute;
    return Math.max(1, requestLimit * SHARE_OF_REQUESTS);
  }

  #add(page: MonitoredPage): void {
    const { status } = this;
    status.started += page.started;
    status.failed += page.failed;
    status.skipped.alreadyAsked += page.skipped.alreadyAsked;
    status.skipped.optedOut += page.skipped.optedOut;
    status.skipped.gone += page.skipped.gone;
    status.patients = page.patients ?? status.patients;
    if (!page.canList && !status.notes.includes(CANNOT_LIST)) status.notes.push(CANNOT_LIST);
    this.state.canList = page.canList;
    this.state.requestLimit = page.requestLimit ?? this.state.requestLimit;
    this.state.place = page.next ?? this.state.place;
    this.#tell();
  }

  pause(): void {
    this.gate.pause();
    if (this.gate.isPaused) this.status.state = 'paused';
    this.#tell();
  }

  resume(): void {
    if (this.gate.isPaused) this.status.state = 'running';
    this.gate.resume();
    this.#tell();
  }

  end(state: 'completed' | 'cancelled' | 'failed', why?: string): void {
    this.status.state = state;
    if (why !== undefined) this.status.notes.push(why);
    this.#tell();
  }

  #tell(): void {
    setCurrentDetails(detailsOf(this.status));
  }
}

const beginning = ({ cohortId, kind }: CohortMonitoringInput, dueAt: string): MonitoringState => ({
  status: {
    cohortId,
    kind,
    state: 'running',
    patients: 0,
    started: 0,
    skipped: { alreadyAsked: 0, optedOut: 0, gone: 0 },
    failed: 0,
    dueAt,
    notes: [],
  },
  place: { handled: [], refusals: 0 },
  canList: true,
});

const refused = (kind: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(
    `The exchange starts no ${kind} queries for this account; is access to the source enabled?`,
    'source-refused',
  );
