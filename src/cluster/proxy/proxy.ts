import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { withoutHops } from '../../lib/hop-by-hop.ts';
import { Backends } from './backends.ts';
import { mayBeRepeated } from './repeatable.ts';
import { type Outcome, send } from './send.ts';

export interface ProxyCounts {
  requests: number;
  /** Sent to a server again, after the first one did not answer. */
  repeated: number;
  /** Answered with 500 or above, or cut. */
  failed: number;
}

/** A reverse proxy in front of several gateways. */
export interface GatewayProxy {
  readonly url: string;
  readonly counts: Readonly<ProxyCounts>;
  /** Resolves when this server takes requests. False: it did not until the deadline. */
  waitUntilReady(backend: string, deadlineAt: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How long a request waits for a server that is ready, such as while PostgreSQL starts again. */
const HOLD_MS = 30_000;
const SOCKETS_MAX = 256;
const HOST = '127.0.0.1';

/**
 * Forwards each request to one of the gateways that are ready. If the answer is lost, a request that may be repeated (GET,
 * HEAD, or with an Idempotency-Key) is sent to another one; any other only if nothing of it had been sent. A 503 of a gateway
 * that says it is not ready counts as a lost answer. One of a gateway that is ready is passed on: it sheds load.
 */
export async function startProxy(options: {
  port: number;
  backends: readonly string[];
}): Promise<GatewayProxy> {
  const backends = new Backends(options.backends);
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  const closing = new AbortController();
  const counts: ProxyCounts = { requests: 0, repeated: 0, failed: 0 };

  async function answer(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    counts.requests += 1;
    const client = new AbortController();
    reply.once('close', () => client.abort());
    const signal = AbortSignal.any([client.signal, closing.signal]);
    try {
      const outcome = await forward(incoming, signal);
      if (outcome === undefined || 'failed' in outcome) refuse(reply, outcome);
      else await pass(outcome, reply);
      if (reply.statusCode >= 500) counts.failed += 1;
    } catch {
      if (!client.signal.aborted) counts.failed += 1;
      reply.destroy();
    }
  }

  /** The last outcome; undefined when no gateway was ready in time. */
  async function forward(incoming: IncomingMessage, signal: AbortSignal): Promise<Outcome | undefined> {
    const isRepeatable = mayBeRepeated(incoming);
    const body = isRepeatable ? await buffer(incoming) : undefined;
    const deadlineAt = Date.now() + HOLD_MS;
    let origin: string | undefined;
    for (let last: Outcome | undefined; ; counts.repeated += 1) {
      origin = await backends.waitForNext(deadlineAt, origin);
      if (origin === undefined) return last;
      last = await send({ agent, origin, incoming, body, signal });
      const mayGoOn = !signal.aborted && Date.now() < deadlineAt;
      if (!(mayGoOn && (await isLost(last, origin, isRepeatable)))) return last;
      if ('response' in last) last.response.resume();
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

async function pass(
  { response, body }: Exclude<Outcome, { failed: true }>,
  reply: ServerResponse,
): Promise<void> {
  reply.writeHead(response.statusCode ?? 502, withoutHops(response.headers));
  if (body === undefined) await pipeline(response, reply);
  else reply.end(body);
}

function refuse(reply: ServerResponse, outcome: Outcome | undefined): void {
  const problem =
    outcome === undefined
      ? {
          status: 503,
          title: 'Service unavailable',
          detail: 'No gateway is ready. Send the request again in a moment.',
        }
      : {
          status: 502,
          title: 'Bad gateway',
          detail:
            'The gateway ended before it had answered, and the request may have taken effect. Look before you send it again; with an Idempotency-Key it is sent again by itself.',
        };
  const headers = { 'content-type': 'application/problem+json', 'retry-after': '1', connection: 'close' };
  reply.writeHead(problem.status, headers).end(JSON.stringify({ type: 'about:blank', ...problem }));
}
