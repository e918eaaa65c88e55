import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { withoutHops } from '../../../src/lib/hop-by-hop.ts';
import { detailOf, isPostponed, pathPattern, type Refusal, type Refused } from './refusals.ts';
import { type Answer, mayBeRepeated, type Outcome, send } from './send.ts';

export interface ProxyCounts {
  requests: number;
  /** Sent to a server again, after the first one did not answer. */
  repeated: number;
  /** Answered with 503 and Retry-After: nothing was done, and the client knows when to come again. */
  postponed: number;
  /** Answered with anything else of 500 or above, or cut. */
  failed: number;
  /** The client left before it was answered. */
  abandoned: number;
}

interface ProxyOptions {
  port: number;
  backends: readonly string[];
  /** Learns of each request that is postponed or fails. */
  onRefusal?: (refusal: Refusal) => void;
  holdMs?: number;
}

/** The response of a gateway, or why there is none. */
type Forwarded = { answer: Answer; backend: string } | { mayHaveTakenEffect: boolean };

/** A reverse proxy in front of several gateways. */
export interface GatewayProxy {
  readonly url: string;
  readonly counts: Readonly<ProxyCounts>;
  /** Resolves when this server takes requests. False: it did not until the deadline. */
  waitUntilReady(backend: string, deadlineAt: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * How long a request waits for a server that is ready, such as while PostgreSQL starts again. Shorter than clients wait: they
 * should learn that they may come again, instead of leaving without a response.
 */
const HOLD_MS = 15_000;
const SOCKETS_MAX = 256;
const HOST = '127.0.0.1';

/**
 * Forwards each request to one of the gateways that are ready. If the response is lost, a request that may be repeated (GET,
 * HEAD, or with an Idempotency-Key) is sent to another one; any other only if nothing of it had been sent. A 503 of a gateway
 * that says it is not ready counts as a lost response. One of a gateway that is ready is passed on: it sheds load.
 */
export async function startProxy(options: ProxyOptions): Promise<GatewayProxy> {
  const { holdMs = HOLD_MS } = options;
  const backends = new Backends(options.backends);
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  const closing = new AbortController();
  const counts: ProxyCounts = { requests: 0, repeated: 0, postponed: 0, failed: 0, abandoned: 0 };

  async function answer(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const receivedAt = new Date().toISOString();
    counts.requests += 1;
    const client = new AbortController();
    reply.once('close', () => client.abort());
    const note = (refused: Refused, backend?: string) => {
      counts[refused.isPostponed ? 'postponed' : 'failed'] += 1;
      const { method = '', url } = incoming;
      const endedAt = new Date().toISOString();
      options.onRefusal?.({ receivedAt, endedAt, method, path: pathPattern(url), backend, ...refused });
    };
    try {
      const forwarded = await forward(incoming, AbortSignal.any([client.signal, closing.signal]));
      client.signal.throwIfAborted();
      if ('mayHaveTakenEffect' in forwarded) note(answerInstead(reply, forwarded.mayHaveTakenEffect));
      else {
        const refused = await passAnswer(forwarded.answer, reply, client.signal);
        if (refused !== undefined) note(refused, forwarded.backend);
      }
    } catch {
      if (client.signal.aborted) counts.abandoned += 1;
      else note({ status: 'cut', isPostponed: false });
      reply.destroy();
    }
  }

  async function forward(incoming: IncomingMessage, signal: AbortSignal): Promise<Forwarded> {
    const isRepeatable = mayBeRepeated(incoming);
    const body = isRepeatable ? await buffer(incoming) : undefined;
    const deadlineAt = Date.now() + holdMs;
    let failed: string | undefined;
    for (; ; counts.repeated += 1) {
      const origin = await backends.waitForNext(deadlineAt, signal, failed);
      if (origin === undefined) return { mayHaveTakenEffect: false };
      const outcome = await send({ agent, origin, incoming, body, signal });
      const mayGoOn = !signal.aborted && Date.now() < deadlineAt;
      if (!(mayGoOn && (await isLost(outcome, origin, isRepeatable))))
        return 'response' in outcome
          ? { answer: outcome, backend: origin }
          : { mayHaveTakenEffect: outcome.wasSent && !isRepeatable };
      if ('response' in outcome) outcome.response.resume();
      failed = origin;
    }
  }

  async function isLost(outcome: Outcome, origin: string, isRepeatable: boolean): Promise<boolean> {
    if ('response' in outcome && outcome.response.statusCode !== 503) return false;
    const isReady = await backends.isReady(origin);
    return 'response' in outcome ? isRepeatable && !isReady : isRepeatable || !outcome.wasSent;
  }

  const server = createServer((incoming, reply) => void answer(incoming, reply));
  server.requestTimeout = 0;
  server.listen(options.port, HOST);
  await once(server, 'listening');
  return {
    url: `http://${HOST}:${options.port}`,
    counts,
    waitUntilReady: async (backend, deadlineAt) => {
      while (Date.now() < deadlineAt) if (await backends.isReady(backend)) return true;
      return false;
    },
    async close() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await backends.close();
    },
  };
}

const PROBE_MS = 500;
const PROBE_TIMEOUT_MS = 4_000;
const POLL_MS = 50;

/** The servers behind a proxy, and which of them are ready. */
class Backends {
  readonly #urls: readonly string[];
  readonly #ready = new Set<string>();
  readonly #closing = new AbortController();
  readonly #probing: Promise<unknown>;
  #turn = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
    this.#probing = Promise.all(urls.map((url) => this.#keepProbing(url)));
  }

  /** The ready servers take turns; one that has just failed this request comes last. Undefined: none is ready. */
  next(failed?: string): string | undefined {
    const ready = this.#urls.filter((url) => this.#ready.has(url));
    const others = ready.filter((url) => url !== failed);
    const from = others.length > 0 ? others : ready;
    this.#turn += 1;
    return from[this.#turn % from.length];
  }

  /** Waits for a ready server; undefined when there was none until the deadline or the end of the client. */
  async waitForNext(deadlineAt: number, client: AbortSignal, failed?: string): Promise<string | undefined> {
    for (;;) {
      const url = this.next(failed);
      if (url !== undefined || Date.now() > deadlineAt || client.aborted) return url;
      await sleep(POLL_MS);
    }
  }

  /** Asks a server now instead of at its next turn. */
  async isReady(url: string): Promise<boolean> {
    const isReady = await probe(url, this.#closing.signal);
    if (isReady) this.#ready.add(url);
    else this.#ready.delete(url);
    return isReady;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#probing;
  }

  async #keepProbing(url: string): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.isReady(url);
      await sleep(PROBE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function probe(url: string, closing: AbortSignal): Promise<boolean> {
  try {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
    const { statusCode, body } = await request(`${url}/ready`, { signal });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

/** What is longer than this is passed on without being read. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** Passes a response on. Returns how it refuses the request, if it does. Rejects when the client leaves. */
async function passAnswer(
  answer: Answer,
  reply: ServerResponse,
  client: AbortSignal,
): Promise<Refused | undefined> {
  const { response, body } = await readRefusal(answer);
  const { statusCode: status = 502, headers } = response;
  reply.writeHead(status, withoutHops(headers));
  if (body !== undefined) reply.end(body);
  else {
    let isCut = false;
    response.once('error', () => {
      isCut = !client.aborted;
    });
    try {
      await pipeline(response, reply);
    } catch (error) {
      if (!isCut) throw error;
      return { status: 'cut', isPostponed: false };
    }
  }
  return status < 500
    ? undefined
    : { status, detail: detailOf(body), isPostponed: isPostponed(status, headers) };
}

/** Reads what a refusal says, if it is short. */
async function readRefusal({ response, body }: Answer): Promise<Answer> {
  const isShort = Number(response.headers['content-length']) <= REFUSAL_BYTES_MAX;
  if ((response.statusCode ?? 0) < 500 || body !== undefined || !isShort) return { response, body };
  return { response, body: await buffer(response) };
}

/**
 * Answers a request that no gateway has answered: 503 if it may be sent again, 502 if a gateway ended while it worked on it.
 * Returns what was answered.
 */
function answerInstead(reply: ServerResponse, mayHaveTakenEffect: boolean): Refused {
  const problem = mayHaveTakenEffect
    ? {
        status: 502,
        name: 'BAD_GATEWAY',
        title: 'Bad gateway',
        detail:
          'The gateway ended before it had answered, and the request may have taken effect. Look before you send it again; with an Idempotency-Key it is sent again by itself.',
      }
    : {
        status: 503,
        name: 'SERVICE_UNAVAILABLE',
        title: 'Service unavailable',
        detail: 'No gateway is ready. Send the request again in a moment.',
      };
  const headers = {
    'content-type': 'application/problem+json',
    connection: 'close',
    ...(mayHaveTakenEffect ? {} : { 'retry-after': '1' }),
  };
  reply.writeHead(problem.status, headers).end(JSON.stringify({ type: 'about:blank', ...problem }));
  return { status: problem.status, detail: problem.detail, isPostponed: !mayHaveTakenEffect };
}
