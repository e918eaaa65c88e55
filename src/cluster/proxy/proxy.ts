import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Backends } from './backends.ts';
import { answerInstead, passAnswer } from './pass-answer.ts';
import { pathPattern, type Refusal, type Refused } from './refusals.ts';
import { mayBeRepeated } from './repeatable.ts';
import { type Answer, type Outcome, send } from './send.ts';

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

/** The answer of a gateway, or why there is none. */
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
 * should learn that they may come again, instead of leaving without an answer.
 */
const HOLD_MS = 15_000;
const SOCKETS_MAX = 256;
const HOST = '127.0.0.1';

/**
 * Forwards each request to one of the gateways that are ready. If the answer is lost, a request that may be repeated (GET,
 * HEAD, or with an Idempotency-Key) is sent to another one; any other only if nothing of it had been sent. A 503 of a gateway
 * that says it is not ready counts as a lost answer. One of a gateway that is ready is passed on: it sheds load.
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
