import { Agent, type Dispatcher, request as undiciRequest } from 'undici';
import type { SourceFailure } from '../connector.ts';
import { isAllowedUrl, type ResolvedSourceConfig } from '../source-config.ts';
import { createTokenProvider, type TokenProvider } from './auth.ts';
import {
  badAnswer,
  type ErrorAnswer,
  failureOfStatus,
  isRecord,
  issueCodeOf,
  parseRetryAfter,
} from './failures.ts';
import { type Answer, Exchange } from './http-answer.ts';
import { readSourceJson } from './source-json.ts';

export const FHIR_JSON = 'application/fhir+json';

export interface SourceRequest {
  method: 'GET' | 'POST' | 'DELETE';
  url: URL;
  /** What is asked, for messages: `Patient/$match`, never an id. */
  label: string;
  accept?: string;
  headers?: Record<string, string>;
  body?: { text: string; contentType: string };
  /** False for files that are fetched by their address alone (`requiresAccessToken: false`). */
  withToken?: boolean;
  /** True when the answer is read piece by piece: the time-out then bounds the silence, not the whole. */
  streamed?: boolean;
  signal: AbortSignal;
}

export interface JsonAnswer {
  json: Record<string, unknown>;
  bytes: Buffer;
  contentType: string;
  /** The address that answered, redirects followed: relative links resolve against it. */
  url: URL;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 5;
const ERROR_BODY_BYTES_MAX = 64_000;
const JSON_TYPES = new Set(['application/fhir+json', 'application/json', 'application/json+fhir']);

export interface HttpDeps {
  dispatcher?: Dispatcher;
  now: () => number;
}

/** HTTP with one source: its origins, its token, its limits; whatever goes wrong is a SourceFailure. */
export class SourceHttp {
  private readonly dispatcher: Dispatcher;
  private readonly tokens: TokenProvider;

  constructor(
    readonly config: ResolvedSourceConfig,
    private readonly deps: HttpDeps,
  ) {
    this.dispatcher = deps.dispatcher ?? createPool(config.requestTimeoutMs);
    this.tokens = createTokenProvider(config, this.dispatcher, deps.now);
  }

  /** An answer of any status. Its body must be read, or discarded. */
  async send(request: SourceRequest): Promise<Answer> {
    const { source } = this.config;
    let url = request.url;
    for (let hop = 0; hop <= REDIRECTS_MAX; hop += 1) {
      if (!isAllowedUrl(this.config, url)) {
        throw badAnswer(
          source,
          `led ${request.label} to ${url.origin}, which is not one of its configured origins`,
        );
      }
      const answer = await this.sendWithToken(request, url);
      const location = answer.header('location');
      if (!REDIRECTS.has(answer.status) || location === undefined) return answer;
      await answer.discard();
      if (request.method !== 'GET' && answer.status < 307) {
        throw badAnswer(
          source,
          `answered ${answer.status} to ${request.label}, a redirect that drops the question`,
        );
      }
      if (!URL.canParse(location, url.href))
        throw badAnswer(source, `redirected ${request.label} to no valid address`);
      url = new URL(location, url.href);
    }
    throw badAnswer(source, `redirected ${request.label} more than ${REDIRECTS_MAX} times`);
  }

  /** A JSON object answered with 200; everything else is a failure. */
  async json(request: SourceRequest): Promise<JsonAnswer> {
    const answer = await this.send(request);
    if (answer.status !== 200) throw await this.failureOf(answer, request.label);
    return this.readJson(answer, request.label);
  }

  async readJson(answer: Answer, label: string): Promise<JsonAnswer> {
    const { source, pageBytesMax } = this.config;
    if (!JSON_TYPES.has(answer.mediaType)) {
      await answer.discard();
      throw badAnswer(
        source,
        `answered ${label} with ${describeType(answer.mediaType)} instead of FHIR JSON`,
      );
    }
    const bytes = await answer.bytes(pageBytesMax);
    const read = readSourceJson(bytes);
    if (!read.isRead) throw badAnswer(source, `answered ${label} with ${read.fault}`);
    const { json } = read;
    if (!isRecord(json)) throw badAnswer(source, `answered ${label} with broken JSON`);
    return { json, bytes, contentType: answer.mediaType, url: answer.url };
  }

  /** Reads an error answer to its end and says which failure it is. */
  async failureOf(answer: Answer, label: string): Promise<SourceFailure> {
    return failureOfStatus(this.config.source, label, await readError(answer));
  }

  /** The token goes where the configuration says and nowhere else, wherever an answer or a redirect leads. */
  private async sendWithToken(request: SourceRequest, url: URL): Promise<Answer> {
    if (request.withToken === false || !this.config.tokenOrigins.has(url.origin))
      return this.sendOnce(request, url, undefined);
    const authorization = await this.tokens.authorization();
    const answer = await this.sendOnce(request, url, authorization);
    if (answer.status !== 401 || authorization === undefined) return answer;
    if (!this.tokens.invalidate(authorization)) return answer;
    await answer.discard();
    return this.sendOnce(request, url, await this.tokens.authorization());
  }

  private async sendOnce(
    request: SourceRequest,
    url: URL,
    authorization: string | undefined,
  ): Promise<Answer> {
    const exchange = new Exchange(this.config, request);
    try {
      const response = await undiciRequest(url, {
        method: request.method,
        dispatcher: this.dispatcher,
        headers: {
          ...request.headers,
          accept: request.accept ?? FHIR_JSON,
          ...(request.body === undefined ? {} : { 'content-type': request.body.contentType }),
          ...(authorization === undefined ? {} : { authorization }),
        },
        body: request.body?.text,
        headersTimeout: this.config.requestTimeoutMs,
        bodyTimeout: this.config.requestTimeoutMs,
        signal: exchange.signal,
      });
      const retryAfter = response.headers['retry-after'];
      const retryAfterMs = parseRetryAfter(
        typeof retryAfter === 'string' ? retryAfter : undefined,
        this.deps.now(),
      );
      return exchange.answered(response, url, retryAfterMs);
    } catch (error) {
      throw exchange.failed(error);
    }
  }
}

/** Reads what an error answer says, its issue code when it is an OperationOutcome; frees the connection. */
export async function readError(answer: Answer): Promise<ErrorAnswer> {
  const { status, retryAfterMs } = answer;
  if (!JSON_TYPES.has(answer.mediaType)) {
    await answer.discard();
    return { status, retryAfterMs };
  }
  // The status says what matters; a body that is broken or too long must not hide it.
  const bytes = await answer.bytes(ERROR_BODY_BYTES_MAX).catch(() => Buffer.alloc(0));
  const read = readSourceJson(bytes);
  const json = read.isRead ? read.json : undefined;
  const isOutcome = isRecord(json) && json.resourceType === 'OperationOutcome';
  return { status, retryAfterMs, isOutcome, issueCode: issueCodeOf(json) };
}

function createPool(requestTimeoutMs: number): Agent {
  return new Agent({
    connections: 64,
    connect: { timeout: Math.min(requestTimeoutMs, 10_000) },
  });
}

/** A media type in a message: only if it looks like one, for the source chose the text. */
export function describeType(mediaType: string): string {
  if (mediaType === '') return 'no content type';
  return /^[a-z]+\/[a-z0-9.+-]{1,60}$/.test(mediaType) ? mediaType : 'another content type';
}
