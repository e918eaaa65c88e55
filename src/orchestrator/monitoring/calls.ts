import type { EndpointName } from '../../contract/endpoints.ts';
import type { AnswerOf } from '../client/answers.ts';
import type { CallOptions, ExchangeClient, RequestOf } from '../client/exchange-client.ts';
import { ExchangeCallError } from '../client/failures.ts';
import type { ServerPace } from '../client/server-pace.ts';
import type { MonitoredPage } from './monitored-page.ts';

/** The share of the request limit that monitoring leaves to other calls; when less remains, it waits for the reset. */
const RESERVED_SHARE = 0.2;
/** The limit assumed for a service that reports the remaining requests but not the limit. */
const REQUEST_LIMIT_ASSUMED = 250;
/** The wait after a 429 without Retry-After. */
const DEFAULT_WAIT_MS = 30_000;

/** Thrown to interrupt a page: the exchange's rate limit is reached. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited';
  constructor(readonly waitMs: number) {
    super(`the rate limit is reached; wait ${waitMs} ms`);
  }
}

/** Makes and counts the calls of one page. Stops before monitoring uses up the requests of the account's other calls. */
export class Calls {
  #pace: ServerPace = {};

  constructor(
    readonly client: ExchangeClient,
    readonly page: MonitoredPage,
  ) {}

  /** Throws RateLimited, ExchangeCallError. */
  async call<N extends EndpointName>(
    name: N,
    request: RequestOf<N>,
    options?: CallOptions,
  ): Promise<{ answer: AnswerOf<N>; pace: ServerPace }> {
    this.#keepReserve();
    this.page.requests += 1;
    try {
      const { answer, pace } = await this.client.call(name, request, options);
      this.#pace = pace;
      if (pace.requests?.limit !== undefined) this.page.requestLimit = pace.requests.limit;
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
    if (requests.remaining < reserve) throw new RateLimited(Math.max(1_000, requests.resetMs));
  }
}

/** How long to wait for a source whose rate limit is reached. */
export const waitOf = (pace: ServerPace): number => pace.retryAfterMs ?? DEFAULT_WAIT_MS;
