import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher, request as undiciRequest } from 'undici';
import { traced, traceHeaders } from '../../../../lib/tracing/spans.ts';
import {
  blockOf,
  type CallBudgets,
  type CallRates,
  callsAtOnce,
} from '../budgets.ts';
import { SourceFailure } from '../connector.ts';
import {
  addressOf,
  isAllowedUrl,
  type ResolvedSourceConfig,
} from '../source-config.ts';
import { createTokenProvider, type TokenProvider } from './auth/grant.ts';
import type { TokenDeps } from './auth/token-request.ts';
import {
  badResponse,
  failureOfStatus,
  foreignOrigin,
  isRecord,
  issueCodeOf,
  parseRetryAfter,
  type SourceErrorResponse,
} from './failures.ts';
import {
  type ExchangeRequest,
  HttpExchange,
  readSourceJson,
  type SourceResponse,
} from './http-response.ts';
import { tlsOptions } from './tls.ts';

export const FHIR_MEDIA_TYPE = 'application/fhir+json';

export interface SourceRequest extends ExchangeRequest {
  method: 'GET' | 'POST' | 'DELETE';
  url: URL;
  accept?: string;
  headers?: Record<string, string>;
  body?: { text: string | Uint8Array; contentType: string };
  /**
   * False for files that need no token (`requiresAccessToken: false` in a bulk
   * data manifest).
   */
  withToken?: boolean;
}

export interface JsonResponse {
  json: Record<string, unknown>;
  bytes: Buffer;
  contentType: string;
  /** The URL after redirects; relative links resolve against it. */
  url: URL;
  /** The server's own time, from its Date header. */
  date?: string;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 5;
const ERROR_BODY_BYTES_MAX = 64_000;
const JSON_TYPES = new Set([
  'application/fhir+json',
  'application/json',
  'application/json+fhir',
]);

export interface HttpDeps extends Omit<TokenDeps, 'dispatcher'> {
  dispatcher?: Dispatcher;
  /** The budgets that all workers share. Default: calls are made at once. */
  callBudgets?: CallBudgets;
}

/**
 * HTTP with one source: applies its origins, token, rates and limits. Throws
 * only SourceFailure, unless the budget that all workers share cannot be read:
 * that is no failure of the source.
 */
export class SourceHttp {
  private readonly dispatcher: Dispatcher;
  private readonly tokens: TokenProvider;
  private readonly pace: CallPace;
  readonly config: ResolvedSourceConfig;
  private readonly deps: HttpDeps;

  constructor(config: ResolvedSourceConfig, deps: HttpDeps) {
    this.config = config;
    this.deps = deps;

    this.dispatcher = deps.dispatcher ?? createPool(config);
    this.pace = pacedBy(deps.callBudgets, config);
    this.tokens = createTokenProvider(config, {
      ...deps,
      dispatcher: this.dispatcher,
    });
  }

  /**
   * The Authorization header that requests carry; undefined if they carry none.
   */
  authorization(): Promise<string | undefined> {
    return this.tokens.authorization();
  }

  /** In how many milliseconds a step may begin: the budget of calls decides. */
  waitToBeginMs(): number {
    return this.pace.waitToBeginMs();
  }

  /** Scopes that our token lacks although we asked for them. */
  missingScopes(): readonly string[] {
    return this.tokens.missingScopes();
  }

  /**
   * Sends a request and returns the response, whatever its status. The body
   * must be read or discarded.
   */
  async send(request: SourceRequest): Promise<SourceResponse> {
    const { source } = this.config;
    let url = request.url;
    for (let hop = 0; hop <= REDIRECTS_MAX; hop += 1) {
      if (!isAllowedUrl(this.config, url))
        throw foreignOrigin(this.config, `led ${request.label} to`, url);
      const response = await this.sendWithToken(request, url);
      const location = response.header('location');
      if (!REDIRECTS.has(response.status) || location === undefined)
        return response;
      await response.discard();
      if (request.method !== 'GET' && response.status < 307) {
        throw badResponse(
          source,
          `answered ${response.status} to ${request.label}, a redirect that drops the request body`,
        );
      }
      if (!URL.canParse(location, url.href))
        throw badResponse(
          source,
          `redirected ${request.label} to an invalid URL`,
        );
      url = addressOf(this.config, new URL(location, url.href));
    }
    throw badResponse(
      source,
      `redirected ${request.label} more than ${REDIRECTS_MAX} times`,
    );
  }

  /**
   * Sends a request and reads a JSON object; any status but 200 is a failure.
   */
  async json(request: SourceRequest): Promise<JsonResponse> {
    const response = await this.send(request);
    if (response.status !== 200)
      throw await this.failureOf(response, request.label);
    return this.readJson(response, request.label);
  }

  async readJson(
    response: SourceResponse,
    label: string,
  ): Promise<JsonResponse> {
    const { source, pageBytesMax } = this.config;
    if (!JSON_TYPES.has(response.mediaType)) {
      await response.discard();
      throw badResponse(
        source,
        `answered ${label} with ${describeType(response.mediaType)} instead of FHIR JSON`,
      );
    }
    const [, version] =
      /;\s*fhirVersion="?([\d.]{1,10})/i.exec(
        response.header('content-type') ?? '',
      ) ?? [];
    if (version !== undefined && !/^4\.[013](?:\.|$)/.test(version)) {
      await response.discard();
      throw new SourceFailure(
        'refused',
        `${source} answered ${label} in FHIR ${version}; only R4 (4.0) is read`,
      );
    }
    const bytes = await response.bytes(pageBytesMax);
    const read = readSourceJson(bytes);
    if (!read.isRead)
      throw badResponse(source, `answered ${label} with ${read.fault}`);
    const { json } = read;
    if (!isRecord(json))
      throw badResponse(source, `answered ${label} with broken JSON`);
    return {
      json,
      bytes,
      contentType: response.mediaType,
      url: response.url,
      date: response.header('date'),
    };
  }

  /** Reads an error response and returns the failure for it. */
  async failureOf(
    response: SourceResponse,
    label: string,
  ): Promise<SourceFailure> {
    return failureOfStatus(
      this.config.source,
      label,
      await readError(response),
    );
  }

  /**
   * Sends the token to the configured origins only, wherever a link or redirect
   * leads. Renews it once after a 401.
   */
  private async sendWithToken(
    request: SourceRequest,
    url: URL,
  ): Promise<SourceResponse> {
    if (
      request.withToken === false ||
      !this.config.tokenOrigins.has(url.origin)
    )
      return this.sendOnce(request, url, undefined);
    const authorization = await this.tokens.authorization();
    const response = await this.sendOnce(request, url, authorization);
    if (response.status !== 401 || authorization === undefined) return response;
    if (!(await this.tokens.invalidate(authorization))) return response;
    await response.discard();
    return this.sendOnce(request, url, await this.tokens.authorization());
  }

  private async awaitTurn(
    pace: CallPace,
    { signal, label }: SourceRequest,
  ): Promise<void> {
    try {
      await pace.turn(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new SourceFailure(
        'transport',
        `${this.config.source}: ${label} was cancelled`,
        { cause: error },
      );
    }
  }

  /**
   * A span until the headers of the response; the label says what it is, the
   * address would name the patient.
   */
  private sendOnce(
    request: SourceRequest,
    url: URL,
    authorization: string | undefined,
  ): Promise<SourceResponse> {
    const attributes = {
      'http.request.method': request.method,
      'exchange.source': this.config.source,
      'exchange.call': request.label,
    };
    return traced(
      { name: `call ${this.config.source}`, kind: 'client', attributes },
      async (span) => {
        const response = await this.callOnce(request, url, authorization);
        span?.set({ 'http.response.status_code': response.status });
        return response;
      },
    );
  }

  private async callOnce(
    request: SourceRequest,
    url: URL,
    authorization: string | undefined,
  ): Promise<SourceResponse> {
    // Before the time limit of the request begins. Files at other addresses are
    // not in the budget of this one; a gateway's transactions are.
    const isInBudget =
      this.config.ihe !== undefined ||
      url.origin === this.config.baseUrl.origin;
    const pace = isInBudget ? this.pace : UNPACED;
    await this.awaitTurn(pace, request);
    const exchange = new HttpExchange(this.config, request);
    try {
      const response = await undiciRequest(url, {
        method: request.method,
        dispatcher: this.dispatcher,
        headers: {
          ...request.headers,
          ...traceHeaders(),
          accept: request.accept ?? FHIR_MEDIA_TYPE,
          ...(request.body === undefined
            ? {}
            : { 'content-type': request.body.contentType }),
          ...(authorization === undefined ? {} : { authorization }),
        },
        body: request.body?.text,
        headersTimeout: this.config.requestTimeoutSeconds * 1_000,
        bodyTimeout: this.config.requestTimeoutSeconds * 1_000,
        signal: exchange.signal,
      });
      const retryAfter = response.headers['retry-after'];
      const retryAfterMs = parseRetryAfter(
        typeof retryAfter === 'string' ? retryAfter : undefined,
        this.deps.now(),
      );
      const answer = exchange.responded(response, url, retryAfterMs);
      const blockMs = blockOf(
        answer.status,
        answer.header,
        retryAfterMs,
        this.deps.now(),
      );
      if (blockMs > 0) pace.block(blockMs);
      return answer;
    } catch (error) {
      throw exchange.failed(error);
    }
  }
}

/**
 * Reads status and, from an OperationOutcome, the issue code of an error
 * response; releases the connection.
 */
export async function readError(
  response: SourceResponse,
): Promise<SourceErrorResponse> {
  const { status, retryAfterMs } = response;
  if (!JSON_TYPES.has(response.mediaType)) {
    await response.discard();
    return { status, retryAfterMs };
  }
  // The status matters most: a broken or overlong body must not hide it.
  const bytes = await response
    .bytes(ERROR_BODY_BYTES_MAX)
    .catch(() => Buffer.alloc(0));
  const read = readSourceJson(bytes);
  const json = read.isRead ? read.json : undefined;
  const isOutcome = isRecord(json) && json.resourceType === 'OperationOutcome';
  return { status, retryAfterMs, isOutcome, issueCode: issueCodeOf(json) };
}

const pacedBy = (
  budgets: CallBudgets | undefined,
  config: ResolvedSourceConfig,
): CallPace =>
  budgets === undefined
    ? UNPACED
    : createCallPace(
        budgets,
        `${config.baseUrl.origin}${config.baseUrl.pathname}`,
        {
          perSecond: config.callsPerSecond,
          perMinute: config.callsPerMinute,
        },
      );

/**
 * Keep-alive connections to the servers of a source.
 *
 * @param keptMs how long a connection is kept that nothing uses; left out, some
 *   seconds
 * @param lookup finds the addresses of host names
 */
export function createPool(
  { requestTimeoutSeconds, tls, ihe }: ResolvedSourceConfig,
  { keptMs, lookup }: { keptMs?: number; lookup?: LookupFunction } = {},
): Agent {
  return new Agent({
    connections: 64,
    ...(keptMs === undefined
      ? {}
      : { keepAliveTimeout: keptMs, keepAliveMaxTimeout: keptMs }),
    connect: {
      timeout: Math.min(requestTimeoutSeconds, 10) * 1_000,
      ...tlsOptions(tls, ihe?.legacyTls),
      ...(lookup === undefined ? {} : { lookup }),
    },
  });
}

/**
 * A media type for a message; repeated only if it is well-formed, because the
 * source chose the text.
 */
export function describeType(mediaType: string): string {
  if (mediaType === '') return 'no content type';
  return /^[a-z]+\/[a-z0-9.+-]{1,60}$/.test(mediaType)
    ? mediaType
    : 'another content type';
}

/** Spaces the calls of this process to one base address. */
type CallPace = ReturnType<typeof createCallPace>;

/**
 * Calls that were taken from the budget and not used within this time are lost.
 */
const KEEP_MS = 1_000;

/** Without budgets, calls are made at once. */
const UNPACED: CallPace = {
  turn: async () => undefined,
  block: () => undefined,
  waitToBeginMs: () => 0,
};

/**
 * If calls wait longer than this for their turn, no further step begins: those
 * that have begun soon end, and none fills a worker's places with waiting.
 */
const BACKLOG_MS_MAX = 10_000;

/**
 * The pace of one base address. Calls are taken from the shared budget in small
 * batches: as many as wait, and at least a fifth of what was called in the last
 * second, so that a busy source does not cost a transaction for each call.
 */
export function createCallPace(
  budgets: CallBudgets,
  target: string,
  rates: CallRates,
) {
  let batch = { calls: 0, at: 0 };
  let blockedUntil = 0;
  let waiting = 0;
  let queue: Promise<unknown> = Promise.resolve();
  let recent = { second: 0, calls: 0, before: 0 };
  let nextBegin = 0;

  function countCall(now: number): void {
    const second = Math.floor(now / 1_000);
    if (second === recent.second) recent.calls += 1;
    else
      recent = {
        second,
        calls: 1,
        before: second === recent.second + 1 ? recent.calls : 0,
      };
  }

  /** The time at which the next call may be made. */
  async function nextTime(): Promise<number> {
    const now = Date.now();
    countCall(now);
    if (
      batch.calls === 0 ||
      now > batch.at + KEEP_MS ||
      batch.at < blockedUntil
    ) {
      const wanted = Math.max(
        waiting,
        Math.ceil(Math.max(recent.calls, recent.before) / 5),
      );
      const calls = Math.min(Math.max(wanted, 1), callsAtOnce(rates));
      batch = { calls, at: 0 };
      try {
        batch.at = Date.now() + (await budgets.take(target, rates, calls));
      } catch (error) {
        batch.calls = 0;
        throw error;
      }
    }
    batch.calls -= 1;
    return batch.at;
  }

  return {
    /**
     * Resolves when a call may be made; rejects when `signal` is aborted, or
     * the budgets cannot be read.
     */
    async turn(signal: AbortSignal): Promise<void> {
      waiting += 1;
      const own = queue.then(nextTime);
      queue = own.catch(() => undefined);
      const at = await own.finally(() => {
        waiting -= 1;
      });
      signal.throwIfAborted();
      const waitMs = Math.max(at, blockedUntil) - Date.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal });
    },
    /**
     * In how many milliseconds a step may begin. While many calls wait, each
     * step gets a time of its own, one call after the other, so that those that
     * wait do not come back together.
     */
    waitToBeginMs(): number {
      const now = Date.now();
      const freeAt = Math.max(batch.at, blockedUntil);
      if (freeAt - now <= BACKLOG_MS_MAX) return 0;
      const { perSecond, perMinute } = rates;
      const spacingMs = Math.max(1_000 / perSecond, 60_000 / perMinute);
      nextBegin = Math.max(freeAt, nextBegin + spacingMs);
      return Math.ceil(nextBegin - now);
    },
    /** The source wants no call for this time, in milliseconds. */
    block(forMs: number): void {
      blockedUntil = Math.max(blockedUntil, Date.now() + forMs);
      // Only a hint for the other workers: if it cannot be written, they learn
      // it from the source themselves.
      void budgets.block(target, forMs).catch(() => undefined);
    },
  };
}
