import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OverloadError } from '../../errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    requestShares: RequestShares;
  }
}

const places = new WeakMap<FastifyRequest, RequestPlace>();
const handled = new WeakSet<FastifyRequest>();

/**
 * Prepares the routes added from now on for counting concurrent requests per
 * account. A request ends when its response is sent and its handler has
 * finished, so that a caller cannot exceed its share by disconnecting early.
 */
export function countRequests(app: FastifyInstance, accountMax?: number): void {
  app.decorate('requestShares', new RequestShares(accountMax));
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const end = () => {
        handled.delete(request);
        if (isAnswered(reply)) places.get(request)?.leave();
      };
      handled.add(request);
      let result: unknown;
      try {
        result = handler.call(this, request, reply);
      } catch (error) {
        end();
        throw error;
      }
      if (result instanceof Promise) return result.finally(end);
      // A handler that returns no promise sends its response by itself, later.
      // Returning a promise here would send an empty one at once.
      end();
      return result;
    };
  });
}

/**
 * Counts a request. Throws OverloadError if the account already has its maximum
 * of concurrent requests.
 */
export function countRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  accountId: string,
): void {
  const place = request.server.requestShares.take(accountId);
  places.set(request, place);
  const leave = () => {
    if (!handled.has(request)) place.leave();
  };
  reply.raw.once('finish', leave).once('close', leave);
  // The client disconnected during authentication; there will be no further
  // event.
  if (isAnswered(reply)) leave();
}

/**
 * Stops counting a long-running request that has a limit of its own: a stream,
 * an upload.
 */
export function leaveRequestShare(request: FastifyRequest): void {
  places.get(request)?.leave();
}

const isAnswered = ({ raw }: FastifyReply): boolean =>
  raw.writableFinished || raw.destroyed;

const ACCOUNT_REQUESTS_MAX = 200;
/** Concurrent requests an account keeps under pressure. */
const SHARE_MIN = 20;
/**
 * Number of consecutive reports that must show pressure before requests are
 * shed, so that a short burst is not refused.
 */
const PATIENCE = 10;
/**
 * What is allowed after a report that shows pressure, and after one that does
 * not.
 */
const SHRINKS_TO = 0.8;
const GROWS_TO = 1.1;
const UNLIMITED_FROM = 10_000;

/** A place that a request in progress occupies in its account's share. */
interface RequestPlace {
  leave(): void;
}

/**
 * Limits each account's concurrent requests in this gateway, including waiting
 * ones, which also take memory. While the gateway cannot keep up (`adapt`), all
 * accounts together may have fewer and fewer, each an equal share: so the
 * account that causes the pressure is refused, and one with few requests is
 * not. Nothing waits here, unlike in `Lanes` and `AccountTurns`.
 */
export class RequestShares {
  readonly #underWay = new Map<string, number>();
  #total = 0;
  #totalMax = Number.POSITIVE_INFINITY;
  #pressures = 0;
  private readonly max: number;

  constructor(max = ACCOUNT_REQUESTS_MAX) {
    this.max = max;
  }

  /**
   * Occupies a place. Throws OverloadError if the account has no place left.
   * `leave` may be called more than once.
   */
  take(accountId: string): RequestPlace {
    const refusal = this.refusal(accountId);
    if (refusal !== undefined) throw refusal;
    this.#underWay.set(accountId, this.underWay(accountId) + 1);
    this.#total += 1;
    let isTaken = true;
    return {
      leave: () => {
        if (isTaken) this.#leave(accountId);
        isTaken = false;
      },
    };
  }

  /**
   * Why the account may not have another request in progress; undefined if it
   * may.
   */
  refusal(accountId: string): OverloadError | undefined {
    const underWay = this.underWay(accountId);
    if (underWay >= this.max)
      return new OverloadError(
        'account',
        `More than ${this.max} concurrent requests of this account; wait for responses before you send more`,
      );
    if (
      underWay < SHARE_MIN ||
      underWay < this.#totalMax / this.#accountsWith(accountId)
    )
      return undefined;
    return new OverloadError(
      'gateway',
      'The gateway is overloaded, and this account has many requests in progress; wait for responses before you send more',
    );
  }

  /**
   * To be called at regular times: fewer requests are allowed as long as the
   * gateway is under pressure, then more again.
   */
  adapt(isUnderPressure: boolean): void {
    this.#pressures = isUnderPressure ? this.#pressures + 1 : 0;
    if (!isUnderPressure) {
      const grown = this.#totalMax * GROWS_TO;
      this.#totalMax =
        grown < UNLIMITED_FROM ? grown : Number.POSITIVE_INFINITY;
    } else if (this.#isShedding || this.#pressures >= PATIENCE) {
      this.#totalMax = Math.max(
        SHARE_MIN,
        Math.min(this.#totalMax, this.#total) * SHRINKS_TO,
      );
    }
  }

  /** Requests in progress of all accounts. */
  get total(): number {
    return this.#total;
  }

  underWay(accountId: string): number {
    return this.#underWay.get(accountId) ?? 0;
  }

  get #isShedding(): boolean {
    return this.#totalMax < Number.POSITIVE_INFINITY;
  }

  /** Number of accounts with requests in progress, once this one has one. */
  #accountsWith(accountId: string): number {
    return this.#underWay.size + (this.#underWay.has(accountId) ? 0 : 1);
  }

  #leave(accountId: string): void {
    this.#total -= 1;
    const left = this.underWay(accountId) - 1;
    if (left > 0) this.#underWay.set(accountId, left);
    else this.#underWay.delete(accountId);
  }
}
