import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { withoutHops } from '../../../src/lib/hop-by-hop.ts';
import {
  detailOf,
  isPostponed,
  type ProxyRefusal,
  pathPattern,
  type Refused,
} from './refusals.ts';

export interface ProxyCounts {
  requests: number;
  /** Sent to a server again, after the first one did not answer. */
  repeated: number;
  /**
   * Answered with 503 and Retry-After: nothing was done, and the client knows
   * when to come again.
   */
  postponed: number;
  /** Answered with anything else of 500 or above, or cut. */
  failed: number;
  /** The client left before it was answered. */
  abandoned: number;
}

/** A reverse proxy in front of several gateways. */
export interface GatewayProxy {
  readonly url: string;
  readonly counts: Readonly<ProxyCounts>;
  /**
   * Resolves when this server takes requests. False: it did not until the
   * deadline.
   */
  waitUntilReady(backend: string, deadlineAt: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * The response that a client gets. The body of a short one has arrived whole.
 */
interface ProxiedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable | Buffer;
  /** The gateway that answered; undefined if the proxy does. */
  backend?: string;
}

/**
 * How long a request waits for a server that is ready, such as while PostgreSQL
 * starts again. Shorter than clients wait: they should learn that they may come
 * again, instead of leaving without a response.
 */
const HOLD_MS = 15_000;
const HOST = '127.0.0.1';
const PROBE_MS = 500;
const PROBE_TIMEOUT_MS = 4_000;
const POLL_MS = 50;
/** A larger body is streamed, and so cannot be sent a second time. */
const SHORT_BYTES = 1024 * 1024;
/**
 * Nothing of a request has been sent when its connection failed with one of
 * these.
 */
const UNSENT = ['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT'];

/**
 * Forwards each request to one of the gateways that are ready. If the response
 * is lost, a request that may be repeated (GET, HEAD, or with an
 * Idempotency-Key) is sent to another one; any other only if nothing of it had
 * been sent. A 503 of a gateway that says it is not ready counts as a lost
 * response. One of a gateway that is ready is passed on: it sheds load.
 */
export async function startProxy(options: {
  port: number;
  backends: readonly string[];
  /** Learns of each request that is postponed or fails. */
  onRefusal?: (refusal: ProxyRefusal) => void;
  holdMs?: number;
}): Promise<GatewayProxy> {
  const { backends, holdMs = HOLD_MS } = options;
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const closing = new AbortController();
  const counts: ProxyCounts = {
    requests: 0,
    repeated: 0,
    postponed: 0,
    failed: 0,
    abandoned: 0,
  };
  const ready = new Set<string>();
  let turn = 0;

  const server = createServer((incoming, reply) => void serve(incoming, reply));
  server.requestTimeout = 0;
  server.listen(options.port, HOST);
  await once(server, 'listening');
  const probing = backends.map(async (origin) => {
    while (!closing.signal.aborted) {
      await isReady(origin);
      await sleep(PROBE_MS, undefined, { signal: closing.signal }).catch(
        () => undefined,
      );
    }
  });
  return {
    url: `http://${HOST}:${options.port}`,
    counts,
    waitUntilReady: async (backend, deadlineAt) => {
      while (Date.now() < deadlineAt) if (await isReady(backend)) return true;
      return false;
    },
    async close() {
      closing.abort();
      server.close();
      server.closeAllConnections();
      await agent.destroy();
      await Promise.all(probing);
    },
  };

  async function serve(
    incoming: IncomingMessage,
    reply: ServerResponse,
  ): Promise<void> {
    const receivedAt = new Date().toISOString();
    counts.requests += 1;
    const client = new AbortController();
    reply.once('close', () => client.abort());
    const note = (refused: Refused, backend?: string) => {
      counts[refused.isPostponed ? 'postponed' : 'failed'] += 1;
      const { method = '', url } = incoming;
      const endedAt = new Date().toISOString();
      options.onRefusal?.({
        receivedAt,
        endedAt,
        method,
        path: pathPattern(url),
        backend,
        ...refused,
      });
    };
    let isCut = false;
    try {
      const { status, headers, body, backend } = await forward(
        incoming,
        client.signal,
      );
      client.signal.throwIfAborted();
      reply.writeHead(status, withoutHops(headers));
      if (Buffer.isBuffer(body)) reply.end(body);
      else {
        body.once('error', () => {
          isCut = !client.signal.aborted;
        });
        await pipeline(body, reply);
      }
      if (status >= 500)
        note(
          {
            status,
            detail: detailOf(body),
            isPostponed: isPostponed(status, headers),
          },
          backend,
        );
    } catch {
      if (client.signal.aborted && !isCut) counts.abandoned += 1;
      else note({ status: 'cut', isPostponed: false });
      reply.destroy();
    }
  }

  async function forward(
    incoming: IncomingMessage,
    signal: AbortSignal,
  ): Promise<ProxiedResponse> {
    const { method = 'GET', headers } = incoming;
    const isShort = bytesOf(headers) <= SHORT_BYTES;
    const isRepeatable =
      isShort &&
      (['GET', 'HEAD'].includes(method) ||
        headers['idempotency-key'] !== undefined);
    const body = isShort ? await buffer(incoming) : incoming;
    const forwarded = [
      headers['x-forwarded-for'],
      incoming.socket.remoteAddress,
    ]
      .filter(Boolean)
      .join(', ');
    const request = {
      path: incoming.url ?? '/',
      method: method as Dispatcher.HttpMethod,
      // Our server has answered an Expect itself.
      headers: {
        ...withoutHops(headers),
        expect: undefined,
        'x-forwarded-for': forwarded,
      },
      body,
      signal,
    };
    const deadlineAt = Date.now() + holdMs;
    for (let failed: string | undefined; ; counts.repeated += 1) {
      const origin = await nextReady(deadlineAt, signal, failed);
      if (origin === undefined) return UNAVAILABLE;
      const sent = await send(origin, request);
      const isAway =
        ('wasSent' in sent || sent.status === 503) && !(await isReady(origin));
      const isOver = signal.aborted || Date.now() >= deadlineAt;
      if ('wasSent' in sent) {
        if (sent.wasSent && !isRepeatable) return LOST;
        if (isOver || !isShort) return UNAVAILABLE;
      } else if (!(isAway && isRepeatable) || isOver)
        return { ...sent, backend: origin };
      failed = origin;
    }
  }

  async function send(
    origin: string,
    request: Omit<Dispatcher.RequestOptions, 'origin'>,
  ): Promise<ProxiedResponse | { wasSent: boolean }> {
    try {
      const {
        statusCode: status,
        headers,
        body,
      } = await agent.request({ ...request, origin });
      const isShort =
        request.method === 'HEAD' ||
        bytesOf(headers, Number.POSITIVE_INFINITY) <= SHORT_BYTES;
      return {
        status,
        headers,
        body: isShort ? Buffer.from(await body.arrayBuffer()) : body,
      };
    } catch (error) {
      return {
        wasSent: !UNSENT.includes((error as NodeJS.ErrnoException).code ?? ''),
      };
    }
  }

  /**
   * The ready servers take turns; one that has just failed this request comes
   * last. Undefined: none was ready until the deadline or the end of the
   * client.
   */
  async function nextReady(
    deadlineAt: number,
    client: AbortSignal,
    failed?: string,
  ): Promise<string | undefined> {
    for (;;) {
      const all = backends.filter((origin) => ready.has(origin));
      const others = all.filter((origin) => origin !== failed);
      const from = others.length > 0 ? others : all;
      turn += 1;
      const origin = from[turn % from.length];
      if (origin !== undefined || Date.now() > deadlineAt || client.aborted)
        return origin;
      await sleep(POLL_MS);
    }
  }

  /** Asks a server now instead of at its next turn. */
  async function isReady(origin: string): Promise<boolean> {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const status = await agent
      .request({ origin, path: '/ready', method: 'GET', signal })
      .then(({ statusCode, body }) => body.dump().then(() => statusCode))
      .catch(() => undefined);
    ready[status === 200 ? 'add' : 'delete'](origin);
    return status === 200;
  }
}

/** The length of a body. That of a chunked one is not known. */
function bytesOf(headers: IncomingHttpHeaders, withoutLength = 0): number {
  if (headers['transfer-encoding'] !== undefined)
    return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? withoutLength);
}

/** Answers a request that no gateway has answered: it may be sent again. */
const UNAVAILABLE = problem(
  503,
  'Service unavailable',
  'No gateway is ready. Send the request again in a moment.',
  {
    'retry-after': '1',
  },
);
/** The gateway ended while it worked on a request that may not be repeated. */
const LOST = problem(
  502,
  'Bad gateway',
  'The gateway ended before it had answered, and the request may have taken effect. Look before you send it again; with an Idempotency-Key it is sent again by itself.',
);

function problem(
  status: number,
  title: string,
  detail: string,
  more: IncomingHttpHeaders = {},
): ProxiedResponse {
  const name = title.toUpperCase().replace(' ', '_');
  const body = Buffer.from(
    JSON.stringify({ type: 'about:blank', status, name, title, detail }),
  );
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...more },
    body,
  };
}
