import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import {
  FLOODS,
  type FloodName,
  type FloodRequest,
  type FloodTarget,
} from './flood-kinds.ts';

export interface FloodOrder {
  target: FloodTarget;
  /** What is sent. Default: reads and creates. */
  kind?: FloodName;
  /** Maximum number of requests in progress. */
  connections: number;
  /**
   * Requests to send; without it, each is sent as soon as an earlier one is
   * answered.
   */
  perSecond?: number;
  seconds: number;
  /** Key of a third account, whose connections read and write slowly. */
  slowKey?: string;
}

export interface FloodCounts {
  served: number;
  refused: number;
  /** Any other status, and connections that broke. */
  failed: Record<string, number>;
  /** Ids of the patients whose creation was answered with 201. */
  accepted: string[];
}

const SLOW_SOCKETS = 25;
const TICK_MS = 5;

/** Runs `flood` in a process of its own. */
export async function floodApart(order: FloodOrder): Promise<FloodCounts> {
  const child = fork(
    fileURLToPath(new URL('./flood-process.ts', import.meta.url)),
    [],
  );
  child.send(order);
  const [counts] = (await once(child, 'message')) as [FloodCounts];
  return counts;
}

/**
 * Sends one account's requests from many connections until the time is over.
 */
export async function flood(order: FloodOrder): Promise<FloodCounts> {
  const {
    target,
    kind = 'reads and creates',
    connections,
    perSecond = Number.POSITIVE_INFINITY,
    seconds,
  } = order;
  const requestOf = FLOODS[kind];
  const agent = new Agent({ connections, pipelining: 1 });
  const counts: FloodCounts = {
    served: 0,
    refused: 0,
    failed: {},
    accepted: [],
  };
  const startedAt = performance.now();
  const inProgress = new Set<Promise<void>>();
  let sent = 0;
  const secondsSoFar = () => (performance.now() - startedAt) / 1_000;
  const send = () => {
    while (
      inProgress.size < connections &&
      secondsSoFar() < seconds &&
      (perSecond === Number.POSITIVE_INFINITY ||
        sent < secondsSoFar() * perSecond)
    ) {
      sent += 1;
      const one = sendOne(target, requestOf(target, sent), agent, counts)
        .catch((error: { code?: string }) =>
          count(counts, error.code ?? 'error'),
        )
        .finally(() => {
          inProgress.delete(one);
          send();
        });
      inProgress.add(one);
    }
  };
  const slow =
    order.slowKey === undefined
      ? []
      : openSlowSockets({ ...target, apiKey: order.slowKey });
  while (secondsSoFar() < seconds) {
    send();
    await sleep(TICK_MS);
  }
  for (const socket of slow) socket.destroy();
  await Promise.all(inProgress);
  await agent.destroy();
  return counts;
}

async function sendOne(
  { baseUrl, apiKey }: FloodTarget,
  { method, path, headers, body }: FloodRequest,
  agent: Agent,
  counts: FloodCounts,
): Promise<void> {
  const answer = await request(`${baseUrl}${path}`, {
    dispatcher: agent,
    method,
    headers: { ...(apiKey && { 'x-api-key': apiKey }), ...headers },
    body: typeof body === 'object' ? JSON.stringify(body) : body,
  });
  if (answer.statusCode === 201) {
    const { id } = (await answer.body.json()) as { id?: string };
    if (id !== undefined) counts.accepted.push(id);
  } else await answer.body.dump();
  count(counts, answer.statusCode);
}

function count(counts: FloodCounts, status: number | string): void {
  if (status === 200 || status === 201) counts.served += 1;
  else if (status === 503 || status === 429) counts.refused += 1;
  else counts.failed[status] = (counts.failed[status] ?? 0) + 1;
}

/**
 * Half of them send a body byte by byte, half read nothing of what they asked
 * for; each reconnects by itself when cut off.
 */
function openSlowSockets({ baseUrl, apiKey }: FloodTarget): Socket[] {
  const { hostname, port } = new URL(baseUrl);
  const open = (head: string) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(`${head}host: ${hostname}\r\nx-api-key: ${apiKey}\r\n`);
    return socket;
  };
  const writers = Array.from({ length: SLOW_SOCKETS }, () => {
    const socket = open('POST /medical/v1/patient/match HTTP/1.1\r\n');
    socket.write(
      'content-type: application/json\r\ncontent-length: 100000\r\n\r\n{',
    );
    const drip = setInterval(() => socket.write(' '), 1_000);
    socket.once('close', () => clearInterval(drip));
    return socket;
  });
  const readers = Array.from({ length: SLOW_SOCKETS }, () => {
    const socket = open('GET /medical/v1/patient?count=100 HTTP/1.1\r\n');
    socket.write('\r\n');
    return socket.pause();
  });
  return [...writers, ...readers];
}

export interface Observed {
  /** Latencies in milliseconds, sorted. */
  ms: number[];
  failures: number;
}

/**
 * Latencies in milliseconds of a request that is repeated until `signal`
 * aborts, sorted; failures are counted.
 */
export async function observe(
  url: string,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<Observed> {
  const agent = new Agent({ connections: 1 });
  const headers = apiKey === undefined ? {} : { 'x-api-key': apiKey };
  const seen = { ms: [] as number[], failures: 0 };
  while (!signal.aborted) {
    const start = performance.now();
    const answer = await request(url, { dispatcher: agent, headers }).catch(
      () => undefined,
    );
    await answer?.body.dump();
    if (answer?.statusCode === 200) seen.ms.push(performance.now() - start);
    else seen.failures += 1;
    await sleep(20);
  }
  await agent.destroy();
  return { ...seen, ms: seen.ms.sort((left, right) => left - right) };
}
