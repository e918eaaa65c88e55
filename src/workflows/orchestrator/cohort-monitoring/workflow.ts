import {
  defineSearchAttributeKey,
  SearchAttributeType,
} from '@temporalio/common';
import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  MonitoredPage,
  MonitoringActivities,
  PageInput,
} from '../../../activities/orchestrator/cohort-monitoring.ts';
import {
  type CohortMonitoringInput,
  type CohortMonitoringStatus,
  DEFAULT_MONITORING_PACE,
  COHORT_MONITORING_MESSAGES as MESSAGES,
  type MonitoringPace,
} from '../../../contract/cohort-monitoring.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { type CallFailure, callFailure } from '../../shared/failures.ts';
import {
  Gate,
  type PageDone,
  pageWithin,
  workInPages,
} from '../../shared/work-in-pages.ts';

/** The query for the status, and signals. */
export const cohortMonitoringMessages = {
  status: defineQuery<CohortMonitoringStatus>(MESSAGES.status),
  pause: defineSignal(MESSAGES.pause),
  resume: defineSignal(MESSAGES.resume),
};

/**
 * Starts a query of one source for every patient of a cohort, once per period.
 *
 * Durable because a cohort of 100,000 patients takes a day within a source's
 * limit, and an interrupted run must neither skip patients nor query them
 * twice. Keyed by cohort, kind and the scheduled time. Every page may run
 * twice: each start carries an idempotency key, and the exchange is asked which
 * patients were already queried. History: 11 events per page of 100 patients;
 * continues as new after 200 pages.
 */
export async function cohortMonitoring(
  input: CohortMonitoringInput,
  carried?: MonitoringState,
): Promise<CohortMonitoringStatus> {
  const pace = { ...DEFAULT_MONITORING_PACE, ...input.pace };
  const gate = new Gate(carried?.status.state === 'paused');
  const monitoring = new Monitoring(
    input,
    pace,
    gate,
    carried ?? nominalTime(input),
  );

  setHandler(cohortMonitoringMessages.status, () => monitoring.status);
  setHandler(cohortMonitoringMessages.pause, () => monitoring.pause());
  setHandler(cohortMonitoringMessages.resume, () => monitoring.resume());

  try {
    await workInPages({
      gate,
      pagesPerRun: pace.pagesPerRun,
      nextPage: () => monitoring.nextPage(),
      continueAsNew: () =>
        continueAsNew<typeof cohortMonitoring>(input, monitoring.state),
    });
    if (CancellationScope.current().consideredCancelled)
      throw new CancelledFailure('Cancelled by an operator');
  } catch (error) {
    if (isCancellation(error)) monitoring.end('cancelled');
    else if (error instanceof ApplicationFailure)
      monitoring.end('failed', error.message);
    throw error;
  }
  monitoring.end('completed');
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: 'completed' },
  ]);
  return monitoring.status;
}

/** Temporal sets this search attribute on each run that a Schedule starts. */
const SCHEDULED_START = defineSearchAttributeKey(
  'TemporalScheduledStartTime',
  SearchAttributeType.DATETIME,
);

/**
 * The time that a run stands for, ISO 8601: the scheduled time without jitter
 * or delay, or else its start time.
 */
function nominalTime(input: CohortMonitoringInput): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (
    input.dueAt ??
    (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString()
  );
}

/** The state that is carried over a continue-as-new. */
interface MonitoringState {
  status: CohortMonitoringStatus;
  place: PageInput['place'];
  canList: boolean;
  /**
   * Requests per minute that the exchange allows, as far as its answers say.
   */
  requestLimit?: number;
  /** The page has failed, and is tried again until then. */
  retryUntilMs?: number;
}

const COHORT_GONE =
  'The cohort was deleted during this run; its remaining patients were not queried';
const CANNOT_LIST =
  'This exchange cannot list queries, so a patient in several cohorts is queried once for each of them';

const DAY_MS = 24 * 3_600_000;
const TRY_AGAIN_MS = DAY_MS / 4;
/**
 * A quarter of the period: the round of a cohort must not meet its next one.
 */
const TRIED_FOR_DAYS = { weekly: 2, biweekly: 4, monthly: 7 } as const;
/**
 * Failures that a later try meets again: the exchange refuses the request
 * itself.
 */
const FOR_GOOD = ['rejected', 'not-found'];

/**
 * Retried for one hour less than exchanges keep idempotency keys. A cancelled
 * page returns what it has done so far, so that it is counted.
 */
const { monitorPage } = proxyActivities<MonitoringActivities>({
  startToCloseTimeout: '30 minutes',
  scheduleToCloseTimeout: '23 hours',
  heartbeatTimeout: '15 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '2 seconds', maximumInterval: '2 minutes' },
  summary: 'Start queries for the next page of patients',
});

/**
 * The progress of one run, and what it does with a page; the workflow connects
 * it to its handlers.
 */
class Monitoring {
  state: MonitoringState;
  readonly input: CohortMonitoringInput;
  readonly pace: MonitoringPace;
  readonly gate: Gate;

  constructor(
    input: CohortMonitoringInput,
    pace: MonitoringPace,
    gate: Gate,
    begin: MonitoringState | string,
  ) {
    this.input = input;
    this.pace = pace;
    this.gate = gate;

    this.state = typeof begin === 'string' ? initialState(input, begin) : begin;
    this.#show();
  }

  get status(): CohortMonitoringStatus {
    return this.state.status;
  }

  async nextPage(): Promise<PageDone> {
    const { exchange, cohortId, kind, frequency, queriesPerMinute } =
      this.input;
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
    if (page === 'later')
      return {
        isLast: false,
        uses: [],
        wait: { ms: TRY_AGAIN_MS, why: 'The last page failed: try it again' },
      };
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
          : {
              ms: page.waitMs,
              why: 'The exchange’s rate limit is reached: wait as long as it asks',
            },
    };
  }

  /**
   * Returns undefined when the cohort was deleted during the run; its owner
   * wanted that, so it is not a failure. `later`: the page failed in a way that
   * passes, and is to be tried again.
   */
  async #askPage(
    input: PageInput,
  ): Promise<MonitoredPage | 'later' | undefined> {
    try {
      return await monitorPage(input);
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      const wasThere = this.status.patients > 0;
      if (failure.kind === 'not-found' && wasThere) {
        this.status.notes.push(COHORT_GONE);
        return undefined;
      }
      if (this.#isTriedAgain(failure)) return 'later';
      throw ApplicationFailure.nonRetryable(failure.message, failure.kind);
    }
  }

  /**
   * Without this, a cohort whose page fails waits for the next round: up to a
   * month.
   */
  #isTriedAgain({ kind, message }: CallFailure): boolean {
    if (FOR_GOOD.includes(kind) || !patched('a-failed-page-is-tried-again'))
      return false;
    const now = Date.now();
    this.state.retryUntilMs ??=
      now + TRIED_FOR_DAYS[this.input.frequency] * DAY_MS;
    if (now + TRY_AGAIN_MS > this.state.retryUntilMs) return false;
    this.status.notes.push(
      `${message}; tried again at ${new Date(now + TRY_AGAIN_MS).toISOString()}`,
    );
    this.#show();
    return true;
  }

  get #requestsPerMinute(): number {
    const { requestLimit } = this.state;
    const { requestsPerMinute: fixed, shareOfRequests: share } = this.pace;
    const isFixed = fixed !== undefined && share === undefined;
    if (isFixed || requestLimit === undefined)
      return this.pace.requestsPerMinute;
    return Math.max(1, requestLimit * this.pace.shareOfRequests);
  }

  #add(page: MonitoredPage): void {
    const { status } = this;
    status.started += page.started;
    status.failed += page.failed;
    status.skipped.alreadyAsked += page.skipped.alreadyAsked;
    status.skipped.optedOut += page.skipped.optedOut;
    status.skipped.gone += page.skipped.gone;
    status.patients = page.patients ?? status.patients;
    if (!page.canList && !status.notes.includes(CANNOT_LIST))
      status.notes.push(CANNOT_LIST);
    this.state.retryUntilMs = undefined;
    this.state.canList = page.canList;
    this.state.requestLimit = page.requestLimit ?? this.state.requestLimit;
    this.state.place = page.next ?? this.state.place;
    this.#show();
  }

  pause(): void {
    this.gate.pause();
    if (this.gate.isPaused) this.status.state = 'paused';
    this.#show();
  }

  resume(): void {
    if (this.gate.isPaused) this.status.state = 'running';
    this.gate.resume();
    this.#show();
  }

  end(state: 'completed' | 'cancelled' | 'failed', reason?: string): void {
    this.status.state = state;
    if (reason !== undefined) this.status.notes.push(reason);
    this.#show();
  }

  #show(): void {
    setCurrentDetails(monitoringDetails(this.status));
  }
}

const initialState = (
  { cohortId, kind }: CohortMonitoringInput,
  dueAt: string,
): MonitoringState => ({
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
    `The exchange refuses ${kind} queries for this account; check that access to this source is enabled`,
    'source-refused',
  );

/**
 * Markdown for the workflow's page in the Temporal UI: ids, counts and states.
 */
function monitoringDetails(status: CohortMonitoringStatus): string {
  const { state, kind, patients, started, failed, skipped, dueAt, notes } =
    status;
  const done =
    started + failed + skipped.alreadyAsked + skipped.optedOut + skipped.gone;
  return [
    `**${state}**: ${done} of ${patients} patients, ${kind}, due ${dueAt}`,
    `- queries started: ${started}`,
    `- skipped: ${skipped.alreadyAsked} already queried in this period, ${skipped.optedOut} opted out, ${skipped.gone} deleted`,
    `- failed: ${failed}`,
    ...notes.map((note) => `- ${note}`),
  ].join('\n');
}
