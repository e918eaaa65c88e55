import type { Received } from '../../support/stack.ts';

/** A call of the client and its answer, with the client's times around it. */
export interface RecordedCall {
  method: string;
  /** With the query string. */
  path: string;
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  body: any;
  fromMs: number;
  toMs: number;
}

interface Shown {
  type: string;
  status: string;
}
/** A reading of one query (E3). */
interface Reading extends RecordedCall {
  requestId: string;
  sources: Shown[];
}
/** A webhook with the number that its fact got in the outbox. */
export type Arrival = Pick<
  Received,
  'at' | 'messageId' | 'type' | 'requestId'
> & { seq: number };

const QUERY = /^network\/query\/([0-9a-f-]{36})$/;
const STEERED =
  /^network\/query\/([0-9a-f-]{36})\/(?:source\/(\w+)\/)?(cancel|retry)$/;
const IS_SUCCESS = ({ status }: RecordedCall) => status >= 200 && status < 300;
const endedOf = (sources: readonly Shown[], type: string) =>
  sources.filter((each) => each.type === type && each.status !== 'in-progress')
    .length;

/**
 * What a client must never have seen, whatever happened meanwhile: a query that
 * goes back, a write of its own that a later call does not show, a webhook
 * before what it announces or in another order. Only calls that did not overlap
 * are compared: what happens during a call may be seen before or after it.
 */
export function judgeHistory(
  calls: readonly RecordedCall[],
  arrivals: readonly Arrival[],
): string[] {
  const readings = calls.flatMap((call): Reading[] => {
    const requestId =
      call.method === 'GET' ? QUERY.exec(call.path)?.[1] : undefined;
    return requestId === undefined
      ? []
      : [{ ...call, requestId, sources: call.body?.sources ?? [] }];
  });
  return [
    ...goneBack(readings),
    ...lostWrites(calls, readings),
    ...tooEarly(readings, arrivals),
    ...outOfOrder(arrivals),
  ];
}

/**
 * Entries of a query's sources are only added, and one that has ended stays as
 * it is.
 */
function goneBack(readings: readonly Reading[]): string[] {
  return readings.flatMap((later) =>
    readings
      .filter(
        (earlier) =>
          isBefore(earlier, later) && earlier.requestId === later.requestId,
      )
      .filter((earlier) => IS_SUCCESS(earlier) && IS_SUCCESS(later))
      .filter((earlier) => !continues(earlier.sources, later.sources))
      .map(
        (earlier) =>
          `query ${later.requestId} was ${shown(earlier)}, and later ${shown(later)}`,
      ),
  );
}

const isBefore = (one: RecordedCall, other: RecordedCall) =>
  one.toMs < other.fromMs;
const shown = ({ sources }: Reading) =>
  sources.map(({ type, status }) => `${type} ${status}`).join(', ');

/**
 * Attempts of one source are listed in their order; those of several sources
 * may stand between each other.
 */
function continues(before: readonly Shown[], after: readonly Shown[]): boolean {
  const statusesIn = (sources: readonly Shown[], of: string) =>
    sources.filter(({ type }) => type === of).map(({ status }) => status);
  return [...new Set(before.map(({ type }) => type))].every((type) => {
    const now = statusesIn(after, type);
    return statusesIn(before, type).every((was, index) =>
      was === 'in-progress' ? now[index] !== undefined : now[index] === was,
    );
  });
}

/** What a call of the client did is in every call that it makes afterwards. */
function lostWrites(
  calls: readonly RecordedCall[],
  readings: readonly Reading[],
): string[] {
  const after = (call: RecordedCall, requestId?: string) =>
    readings.filter(
      (reading) => reading.requestId === requestId && isBefore(call, reading),
    );
  const deleted = (patientId: string, before: RecordedCall) =>
    calls.some(
      ({ method, path, fromMs }) =>
        method === 'DELETE' &&
        path === `patient/${patientId}` &&
        fromMs < before.toMs,
    );
  return calls.filter(IS_SUCCESS).flatMap((call) => {
    if (call.method === 'POST' && call.path.startsWith('network/query?')) {
      const patientId =
        new URLSearchParams(call.path.split('?')[1]).get('patientId') ?? '';
      return after(call, call.body?.requestId)
        .filter(
          (reading) => reading.status === 404 && !deleted(patientId, reading),
        )
        .map(
          ({ requestId }) =>
            `query ${requestId} was started, and later not found`,
        );
    }
    if (call.method === 'DELETE' && call.path.startsWith('patient/'))
      return calls
        .filter(
          (later) =>
            isBefore(call, later) &&
            later.method === 'GET' &&
            later.path === call.path,
        )
        .filter((later) => later.status !== 404)
        .map(
          ({ path, status }) =>
            `${path} was deleted, and later answered ${status}`,
        );
    const [, requestId, type, what] =
      (call.method === 'POST' && STEERED.exec(call.path)) || [];
    if (what !== 'cancel') return [];
    const isRetried = (reading: Reading) =>
      calls.some(
        ({ path, fromMs, toMs }) =>
          STEERED.exec(path)?.[1] === requestId &&
          path.endsWith('/retry') &&
          toMs >= call.fromMs &&
          fromMs <= reading.toMs,
      );
    return after(call, requestId)
      .filter((reading) => IS_SUCCESS(reading) && !isRetried(reading))
      .filter(({ sources }) =>
        sources.some(
          (each) =>
            (type ?? each.type) === each.type && each.status === 'in-progress',
        ),
      )
      .map(
        (reading) =>
          `query ${requestId}: ${type ?? 'all'} was cancelled, and later ${shown(reading)}`,
      );
  });
}

/**
 * Whoever reads because of a webhook sees what it announces: for the n-th end
 * of a source, n ended attempts.
 */
function tooEarly(
  readings: readonly Reading[],
  arrivals: readonly Arrival[],
): string[] {
  const announced = new Map<string, number>();
  return firsts(arrivals).flatMap(({ at, type, requestId }) => {
    const source = /^network-query\.(\w+)$/.exec(type)?.[1];
    if (source === undefined) return [];
    const key = `${requestId}/${source}`;
    const count = (announced.get(key) ?? 0) + 1;
    announced.set(key, count);
    return readings
      .filter(
        (reading) => reading.requestId === requestId && IS_SUCCESS(reading),
      )
      .filter(({ fromMs }) => fromMs > Date.parse(at))
      .filter(({ sources }) => endedOf(sources, source) < count)
      .map(
        (reading) =>
          `end ${count} of ${key} was announced, and later ${shown(reading)}`,
      );
  });
}

/**
 * Facts of one kind about one request follow each other, so their webhooks do.
 */
function outOfOrder(arrivals: readonly Arrival[]): string[] {
  const last = new Map<string, number>();
  return firsts(arrivals).flatMap(({ seq, type, requestId }) => {
    const key = `${requestId}/${type}`;
    const before = last.get(key) ?? 0;
    last.set(key, seq);
    return before < seq
      ? []
      : [`webhook ${seq} of ${key} came after ${before}`];
  });
}

/** Each message once, as it first arrived. */
const firsts = (arrivals: readonly Arrival[]): Arrival[] =>
  arrivals.filter(
    (one, index) =>
      arrivals.findIndex(({ messageId }) => messageId === one.messageId) ===
      index,
  );
