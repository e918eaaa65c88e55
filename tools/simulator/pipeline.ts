import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { queryOf } from '../../src/lib/query-of.ts';
import type { Fault } from '../../src/local-stack/simulator/faults.ts';
import { isAuthorized, type SourceAccess } from './auth.ts';
import {
  applyToResponse,
  canShow,
  type SentResponse,
} from './faults/apply-to-response.ts';
import type { Phase } from './faults/rules.ts';
import type { RequestLog } from './request-log.ts';
import {
  refusalResponse,
  SIMULATED_FHIR_TYPE,
  type SimulatedResponse,
} from './response.ts';
import type { Route } from './routes/route.ts';
import type { Source, SourceCall } from './source.ts';

export interface PipelineOptions {
  access: SourceAccess;
  log: RequestLog;
  /**
   * Origin at which callers reach the simulator; default: that of the request.
   */
  publicUrl?: string;
}

/**
 * Serves the routes of a source. Every request passes access check, rate limit,
 * faults, handler, faults again, and log.
 */
export function serveSource(
  app: FastifyInstance,
  source: Source,
  routes: readonly Route[],
  options: PipelineOptions,
): void {
  const limit = new RateLimit();
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        await handle({ source, route, limit, options }, request, reply);
        return reply;
      },
    });
  }
}

interface Context {
  source: Source;
  route: Route;
  limit: RateLimit;
  options: PipelineOptions;
}

async function handle(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { source, route, limit, options } = context;
  const { clockAheadMs } = source.settings();
  if (clockAheadMs !== 0)
    reply.header('date', new Date(Date.now() + clockAheadMs).toUTCString());
  const entry = startEntry(context, request);
  const take = (phase: Phase, canShow?: (fault: Fault) => boolean) => {
    const occasion = {
      source: source.name,
      operation: route.operation,
      sample: entry.sample,
    };
    const fault = source.faults.take(phase, occasion, canShow);
    if (fault) entry.note(fault);
    return fault;
  };
  const call: SourceCall = {
    ...readRequest(context, request),
    takeMatchFault: () => take('match'),
    takeGatewayTrouble: (troubles) => {
      const taken = take(
        'gateway',
        (fault) => fault.type === 'gateway' && troubles.includes(fault.trouble),
      );
      return taken?.type === 'gateway' ? taken.trouble : undefined;
    },
    takeCallbackFault: () => take('callback'),
    note: entry.note,
  };
  const answerWith = (answer: SentResponse) => {
    entry.end(answer.status);
    send(reply, answer);
  };

  if (!route.open?.(call) && !isAuthorized(request, options.access))
    return answerWith(unauthorized());
  if (!limit.admit(source.settings().requestsPerSecond))
    return answerWith(tooManyRequests(1));
  entry.sample = route.sample?.(call);
  await delay(source, take('delay'));

  const requestFault = take('request');
  if (requestFault) {
    const answer = failedRequest(requestFault);
    if (answer) return answerWith(answer);
    entry.end(0);
    return breakOff(requestFault, request, reply);
  }
  const answer = await route.answer(call);
  const answerFault = take('answer', (fault) => canShow(fault, answer));
  answerWith(
    answerFault
      ? applyToResponse(answerFault, answer, call, entry.sample)
      : answer,
  );
}

function startEntry(
  { source, route, options }: Context,
  request: FastifyRequest,
) {
  const startedAtMs = Date.now();
  const faults = new Set<string>();
  return {
    /** Key of the sample patient, once it is known. */
    sample: undefined as string | undefined,
    note: (fault: Fault) => void faults.add(fault.type),
    /** Writes the entry. */
    end(status: number) {
      options.log.add({
        at: new Date(startedAtMs).toISOString(),
        source: source.name,
        operation: route.operation,
        method: request.method,
        path: request.url.split('?')[0] ?? '',
        ...(this.sample ? { sample: this.sample } : {}),
        status,
        ...(faults.size > 0 ? { fault: [...faults].join(',') } : {}),
        ms: Date.now() - startedAtMs,
      });
    },
  };
}

function readRequest({ source, options }: Context, request: FastifyRequest) {
  const origin = options.publicUrl ?? `http://${request.headers.host}`;
  const params = new URLSearchParams(queryOf(request.url));
  if (request.body instanceof URLSearchParams) {
    for (const [name, value] of request.body) params.append(name, value);
  }
  return { source, request, baseUrl: `${origin}/${source.name}/fhir`, params };
}

async function delay(source: Source, fault: Fault | undefined): Promise<void> {
  const ms =
    source.settings().latencyMs + (fault?.type === 'latency' ? fault.ms : 0);
  if (ms > 0) await sleep(ms, undefined, { ref: false });
}

/**
 * The response to a request that fails at once; undefined when it gets no
 * response.
 */
function failedRequest(fault: Fault): SimulatedResponse | undefined {
  if (fault.type === 'rate-limit')
    return tooManyRequests(fault.retryAfterSeconds);
  if (fault.type !== 'status') return undefined;
  if (fault.body !== undefined)
    return {
      status: fault.status,
      contentType: 'text/plain',
      body: fault.body,
    };
  const why =
    fault.code === 'suppressed'
      ? 'The patient has not consented.'
      : 'The network has a temporary problem.';
  return refusalResponse(fault.status, fault.code, why);
}

/**
 * Sends no response: resets the connection (`reset`), or leaves it open
 * (`hang`).
 */
function breakOff(
  fault: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.hijack();
  if (fault.type === 'reset') request.raw.socket.resetAndDestroy();
}

function send(
  reply: FastifyReply,
  { status, headers, contentType, body }: SentResponse,
): void {
  reply.code(status).headers(headers ?? {});
  if (body === undefined) return void reply.send();
  const isJson =
    typeof body === 'object' && !Buffer.isBuffer(body) && !('pipe' in body);
  reply.header('content-type', contentType ?? SIMULATED_FHIR_TYPE);
  reply.send(isJson ? JSON.stringify(body) : body);
}

function unauthorized(): SimulatedResponse {
  const answer = refusalResponse(
    401,
    'login',
    'A valid access token is required.',
  );
  return { ...answer, headers: { 'www-authenticate': 'Bearer' } };
}

function tooManyRequests(retryAfterSeconds: number): SimulatedResponse {
  const answer = refusalResponse(429, 'throttled', 'Too many requests.');
  return { ...answer, headers: { 'retry-after': String(retryAfterSeconds) } };
}

/**
 * Counts the requests of the last second; `admit` returns whether one more is
 * within the limit.
 */
class RateLimit {
  #admittedAtMs: number[] = [];

  admit(perSecond: number | null, nowMs = Date.now()): boolean {
    if (perSecond === null) return true;
    this.#admittedAtMs = this.#admittedAtMs.filter(
      (atMs) => atMs > nowMs - 1000,
    );
    if (this.#admittedAtMs.length >= perSecond) return false;
    this.#admittedAtMs.push(nowMs);
    return true;
  }
}
