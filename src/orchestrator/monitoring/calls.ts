import type { EndpointName } from '../../contract/endpoints.ts';
import type { AnswerOf } from '../client/answers.ts';
import type { CallOptions, ExchangeClient, RequestOf } from '../client/exchange-client.ts';
import { ExchangeCallError } from '../client/failures.ts';
import type { ServerPace } from '../client/server-pace.ts';
import type { MonitoredPage } from './monitored-page.ts';

/** Of an exchange's limit of requests: when less is left, monitoring waits for the next window. */
const REQUESTS_LEFT_TO_OTHERS = 0.2;
/** When a service says how much is left, but not of how much. */
const REQUEST_LIMIT_ASSUMED = 250;
/** When a service refuses for a limit without saying for how long. */
const WAIT_UNTOLD_MS = 30_000;

/** Thrown to leave a page where it stands: the exchange has no room now. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  constructor(readonly waitMs: number) {
    super(`no room for ${waitMs} ms`);
  }
}

/** The calls of one page: counted, and stopped before monitoring takes the requests of everybody else. */
export class Calls {
  #pace: ServerPace = {};

  constructor(
    readonly client: ExchangeClient,
    readonly page: MonitoredPage,
  ) {}

  /** Throws NoRoom, ExchangeCallError. */
  async call<N extends EndpointName>(
    name: N,
    request: RequestOf<N>,
    options?: CallOptions,
  ): Promise<{ answer: AnswerOf<N>; pace: ServerPace }> {
    this.#leaveSomeToOthers();
    this.page.requests += 1;
    try {
      const { answer, pace } = await this.client.call(name, request, options);
      this.#pace = pace;
      if (pace.requests?.limit !== undefined) this.page.requestLimit = pace.requests.limit;
      return { answer, pace };
    } catch (error) {
      if (error instanceof ExchangeCallError && error.kind === 'rate-limited')
        throw new NoRoom(error.retryAfterMs ?? WAIT_UNTOLD_MS);
      throw error;
    }
  }

  #leaveSomeToOthers(): void {
    const { requests } = this.#pace;
    if (requests === undefined) return;
    const reserve = (requests.limit ?? REQUEST_LIMIT_ASSUMED) * REQUESTS_LEFT_TO_OTHERS;
    if (requests.remaining < reserve) throw new NoRoom(Math.max(1_000, requests.resetMs));
  }
}

/** The wait until a source that met its limit has room again. */
export const waitOf = (pace: ServerPace): number => pace.retryAfterMs ?? WAIT_UNTOLD_MS;
