import {
  MONITORING_METADATA,
  type MonitoringFrequency,
} from '../../contract/cohort-monitoring.ts';
import type { EndpointName } from '../../contract/endpoints.ts';
import { opaqueId } from '../../temporal/client.ts';
import type {
  CallOptions,
  ExchangeClient,
  RequestOf,
} from '../client/exchange-client.ts';
import { ExchangeCallError } from '../client/failures.ts';
import type { ResponseOf } from '../client/responses.ts';
import type { ServerPace } from '../client/server-pace.ts';
import type { MonitoredPage, PageInput } from './monitored-page.ts';

/**
 * The outcome for one patient. `refused`: for a reason other than a rate limit,
 * and than a consent or opt-out of the patient.
 */
export type MonitoringOutcome =
  | 'started'
  | keyof MonitoredPage['skipped']
  | 'refused'
  | 'failed';

/** How many of a patient's newest queries are read. */
const LISTED_MAX = 20;
/**
 * How many idempotency keys are tried for one patient. An exchange repeats a
 * refusal under the same key, and some keys may have been used for another
 * cohort.
 */
const KEYS_MAX = 20;
/** The wait for another run that is starting a query for the same patient. */
const SOON_MS = 1_000;
/**
 * Statuses of a service that cannot list queries, or not with these filters.
 */
const CANNOT_LIST: ReadonlySet<number> = new Set([400, 404, 405, 501]);

/**
 * What the list of queries shows for a patient: queried in this period, or the
 * id of the newest query.
 */
type Seen =
  | { outcome: 'started' | 'alreadyAsked' }
  | { outcome?: undefined; newest: string };

const NONE: Seen = { newest: '' };

/**
 * Starts a query for one patient, unless the source was already queried in this
 * period.
 */
export class QueryStarter {
  readonly #period: Period;

  readonly input: PageInput;
  readonly calls: Calls;
  /** ID_HMAC_KEY */
  readonly hmacKey: string;

  constructor(input: PageInput, calls: Calls, hmacKey: string) {
    this.input = input;
    this.calls = calls;
    this.hmacKey = hmacKey;

    this.#period = new Period(input);
  }

  /**
   * Throws RateLimited, and ExchangeCallError for failures after which the
   * whole page should be retried.
   *
   * @param refusalsBefore how often this patient's query was rate-limited
   *   before; as many idempotency keys are used up
   */
  async startOnce(
    patientId: string,
    refusalsBefore: number,
  ): Promise<MonitoringOutcome> {
    const seen = await this.#readQueries(patientId);
    if (seen.outcome !== undefined) return seen.outcome;
    let { newest } = seen;
    for (let key = refusalsBefore; key < refusalsBefore + KEYS_MAX; key += 1) {
      const outcome = await this.#start(patientId, newest, key);
      if (outcome === 'key-taken') {
        // A run for another cohort has used this key first; its call was either
        // started or refused.
        const now = await this.#readQueries(patientId);
        if (now.outcome !== undefined) return now.outcome;
        newest = now.newest;
      } else if (typeof outcome !== 'object') return outcome;
      else if (!outcome.isReplay)
        throw this.#rateLimited(outcome.waitMs, key + 1);
    }
    throw this.#rateLimited(SOON_MS, refusalsBefore + KEYS_MAX);
  }

  #rateLimited(waitMs: number, refusals: number): RateLimited {
    this.calls.page.next = {
      ...(this.calls.page.next ?? this.input.place),
      refusals,
    };
    return new RateLimited(waitMs);
  }

  async #readQueries(patientId: string): Promise<Seen> {
    if (!this.calls.page.canList) return NONE;
    const { kind } = this.input;
    try {
      const { answer } = await this.calls.call('listNetworkQueries', {
        query: { patientId, source: kind, count: LISTED_MAX },
      });
      // A service that ignores the filter would return other patients' queries.
      const own = answer.queries.filter(
        (query) => (query.patientId ?? patientId) === patientId,
      );
      const queriedBy = this.#period.queriedBy(own);
      if (queriedBy === 'none') return { newest: own[0]?.requestId ?? '' };
      return { outcome: queriedBy === 'own' ? 'started' : 'alreadyAsked' };
    } catch (error) {
      if (
        !(error instanceof ExchangeCallError) ||
        !CANNOT_LIST.has(error.httpStatus ?? 0)
      )
        throw error;
      this.calls.page.canList = false;
      return NONE;
    }
  }

  async #start(
    patientId: string,
    newest: string,
    key: number,
  ): Promise<
    MonitoringOutcome | 'key-taken' | { waitMs: number; isReplay: boolean }
  > {
    const { kind, cohortId, dueAt } = this.input;
    try {
      const { answer, pace } = await this.calls.call(
        'startNetworkQuery',
        {
          query: { patientId },
          body: {
            sources: { [kind]: { enabled: true } },
            metadata: {
              [MONITORING_METADATA.cohortId]: cohortId,
              [MONITORING_METADATA.kind]: kind,
              [MONITORING_METADATA.due]: dueAt,
            },
          },
        },
        {
          background: true,
          idempotencyKey: this.#idempotencyKey(patientId, newest, key),
        },
      );
      if (answer.sources.some(({ type }) => type === kind)) return 'started';
      const error = answer.errors.find(({ source }) => source === kind);
      if (error?.httpStatus === 429)
        return { waitMs: waitOf(pace), isReplay: pace.isReplay === true };
      if (error?.httpStatus !== 400) return 'failed';
      return error.isOfPatient === true ? 'optedOut' : 'refused';
    } catch (error) {
      return this.#outcomeOf(error, patientId, key);
    }
  }

  async #outcomeOf(
    error: unknown,
    patientId: string,
    key: number,
  ): Promise<MonitoringOutcome | 'key-taken'> {
    if (!(error instanceof ExchangeCallError)) throw error;
    // Another run is starting a query for this patient right now; wait for its
    // outcome.
    if (error.kind === 'conflict' && error.retryable)
      throw this.#rateLimited(SOON_MS, key);
    if (error.httpStatus === 422) return 'key-taken';
    if (error.retryable || error.kind === 'unauthorized') throw error;
    switch (error.kind) {
      case 'not-found':
        return 'gone';
      case 'ambiguous':
        // No response, and no idempotency key: do not send the call again; the
        // list shows whether it took effect.
        return (await this.#readQueries(patientId)).outcome ?? 'failed';
      default:
        return error.kind === 'rejected' ? 'refused' : 'failed';
    }
  }

  /**
   * Includes the newest query seen. So if two runs find nothing at the same
   * time, whatever their cohorts and times, both use the same key and only one
   * of them starts the query. If the exchange cannot list queries, each cohort
   * has its own keys.
   */
  #idempotencyKey(patientId: string, newest: string, key: number): string {
    const { kind, cohortId, dueAt } = this.input;
    const scope = this.calls.page.canList ? newest : `${cohortId} ${dueAt}`;
    return opaqueId(
      this.hmacKey,
      'monitoring-query',
      [kind, scope, patientId, key].join(' '),
    );
  }
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The shortest distance between two nominal times of a schedule; the shortest
 * month has 28 days.
 */
const PERIOD_MS: Readonly<Record<MonitoringFrequency, number>> = {
  weekly: 7 * DAY_MS,
  biweekly: 14 * DAY_MS,
  monthly: 28 * DAY_MS,
};

/**
 * Nominal times follow local time, which shifts by an hour between summer and
 * winter.
 */
const CLOCK_CHANGE_MS = 2 * HOUR_MS;

/** The members of a listed query that show when it was due or started. */
export interface ListedQuery {
  patientId?: string | null;
  startedAt: string;
  metadata?: Record<string, unknown> | null;
}

interface RunIdentity {
  cohortId: string;
  kind: string;
  frequency: MonitoringFrequency;
  /** ISO 8601: nominal time of the run. */
  dueAt: string;
}

/**
 * Decides whether a patient was already queried in the period that ends with a
 * run.
 *
 * A monitoring query counts from the nominal time of its run, however late it
 * was started. So jitter, pacing, pauses and outages never make a run skip a
 * patient whom its schedule queried a whole period ago, and a patient in two
 * cohorts is queried once. Any other query counts from its start, and the
 * period is shortened by a seventh for it: at an exchange that lists no
 * metadata, our own late queries look like this too (docs/decisions/0020).
 */
export class Period {
  readonly #dueMs: number;
  readonly #lengthMs: number;
  readonly run: RunIdentity;

  constructor(run: RunIdentity) {
    this.run = run;

    this.#dueMs = Date.parse(run.dueAt);
    this.#lengthMs = PERIOD_MS[run.frequency];
  }

  /**
   * `own`: this run itself started the query, before its worker was
   * interrupted.
   */
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
    if (dueMs !== undefined)
      return dueMs > this.#dueMs - this.#lengthMs + CLOCK_CHANGE_MS;
    return Date.parse(startedAt) > this.#dueMs - (this.#lengthMs * 6) / 7;
  }
}

function dueOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * The share of the request limit that monitoring leaves to other calls; when
 * less remains, it waits for the reset.
 */
const RESERVED_SHARE = 0.2;
/**
 * The limit assumed for a service that reports the remaining requests but not
 * the limit.
 */
const REQUEST_LIMIT_ASSUMED = 250;
/** The wait after a 429 without Retry-After. */
const DEFAULT_WAIT_MS = 30_000;

/** Thrown to interrupt a page: the exchange's rate limit is reached. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`the rate limit is reached; wait ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/**
 * Makes and counts the calls of one page. Stops before monitoring uses up the
 * requests of the account's other calls.
 */
export class Calls {
  #pace: ServerPace = {};
  readonly client: ExchangeClient;
  readonly page: MonitoredPage;

  constructor(client: ExchangeClient, page: MonitoredPage) {
    this.client = client;
    this.page = page;
  }

  /** Throws RateLimited, ExchangeCallError. */
  async call<N extends EndpointName>(
    name: N,
    request: RequestOf<N>,
    options?: CallOptions,
  ): Promise<{ answer: ResponseOf<N>; pace: ServerPace }> {
    this.#keepReserve();
    this.page.requests += 1;
    try {
      const { answer, pace } = await this.client.call(name, request, options);
      this.#pace = pace;
      if (pace.requests?.limit !== undefined)
        this.page.requestLimit = pace.requests.limit;
      return { answer, pace };
    } catch (error) {
      if (error instanceof ExchangeCallError && error.kind === 'rate-limited')
        throw new RateLimited(error.retryAfterMs ?? DEFAULT_WAIT_MS);
      throw error;
    }
  }

  #keepReserve(): void {
    const { requests } = this.#pace;
    if (requests === undefined) return;
    const reserve = (requests.limit ?? REQUEST_LIMIT_ASSUMED) * RESERVED_SHARE;
    if (requests.remaining < reserve)
      throw new RateLimited(Math.max(1_000, requests.resetMs));
  }
}

/** How long to wait for a source whose rate limit is reached. */
const waitOf = (pace: ServerPace): number =>
  pace.retryAfterMs ?? DEFAULT_WAIT_MS;
