import {
  createExchangeClient,
  type ExchangeClient,
} from '../../../../src/orchestrator/client/exchange-client.ts';
import {
  type Stub,
  type StubAnswer,
  type StubRequest,
  startStub,
} from '../../../support/http-stub.ts';

export interface FakeQuery {
  requestId: string;
  patientId: string;
  source: string;
  startedAt: string;
  metadata?: Record<string, string>;
}

/**
 * An exchange over HTTP as monitoring sees it: cohorts, the list of queries, E2
 * with idempotency keys.
 */
export interface FakeExchange {
  url: string;
  /** Patients by cohort. */
  cohorts: Map<string, { id: string; hieOptOut?: boolean }[]>;
  queries: FakeQuery[];
  /** The clock that queries are stamped with, ISO 8601. */
  now: string;
  /** Another answer than the usual one; undefined for the usual one. */
  instead?: (request: StubRequest) => StubAnswer | undefined;
  /** Headers of every answer. */
  headers: Record<string, string>;
  requests: StubRequest[];
  /** Queries that can still be started; unlimited when undefined. */
  room?: number;
  hasList: boolean;
  showsMetadata: boolean;
  client(options?: { idempotency?: boolean }): ExchangeClient;
  startedFor(patientId: string): number;
  close(): Promise<void>;
}

export async function startFakeExchange(): Promise<FakeExchange> {
  const stub: Stub = await startStub();
  const keys = new Map<string, { body: string; answer: object }>();
  const exchange: FakeExchange = {
    url: stub.url,
    cohorts: new Map(),
    queries: [],
    now: '2026-11-21T02:00:00Z',
    headers: {},
    requests: stub.requests,
    hasList: true,
    showsMetadata: true,
    client: ({ idempotency = true } = {}) =>
      createExchangeClient({
        baseUrl: stub.url,
        credential: async () => ({ name: 'x-api-key', value: 'key' }),
        idempotency,
        timeoutMs: 240_000,
      }),
    startedFor: (patientId) =>
      exchange.queries.filter((query) => query.patientId === patientId).length,
    close: () => stub.close(),
  };

  function start(request: StubRequest, url: URL): StubAnswer {
    const key = request.headers['idempotency-key'];
    const asked = `${request.url} ${request.body}`;
    const known = typeof key === 'string' ? keys.get(key) : undefined;
    if (known !== undefined)
      return known.body === asked
        ? {
            status: 200,
            body: known.answer,
            headers: { 'idempotent-replayed': 'true' },
          }
        : { status: 422, body: { name: 'UNPROCESSABLE_CONTENT' } };
    const { sources, metadata } = JSON.parse(request.body);
    const [source = ''] = Object.keys(sources);
    const query = {
      requestId: `query-${exchange.queries.length}`,
      patientId: url.searchParams.get('patientId') ?? '',
      source,
      startedAt: exchange.now,
      metadata,
    };
    const hasRoom = exchange.room === undefined || exchange.room-- > 0;
    if (hasRoom) exchange.queries.push(query);
    const answer = {
      requestId: query.requestId,
      status: hasRoom ? 'processing' : 'failed',
      startedAt: query.startedAt,
      sources: hasRoom
        ? [{ type: source, status: 'processing', startedAt: query.startedAt }]
        : [],
      ...(hasRoom
        ? {}
        : { errors: [{ source, httpStatus: 429, message: 'no room' }] }),
    };
    if (typeof key === 'string') keys.set(key, { body: asked, answer });
    return {
      status: 200,
      body: answer,
      ...(hasRoom ? {} : { headers: { 'retry-after': '20' } }),
    };
  }

  function list(url: URL): StubAnswer {
    if (!exchange.hasList) return { status: 405, body: {} };
    const { patientId, source } = Object.fromEntries(url.searchParams);
    const queries = exchange.queries
      .filter(
        (query) => query.patientId === patientId && query.source === source,
      )
      .reverse()
      .map(({ metadata, ...query }) => ({
        ...query,
        status: 'completed',
        sources: [],
        ...(exchange.showsMetadata ? { metadata } : {}),
      }));
    return {
      status: 200,
      body: { queries, meta: { itemsOnPage: queries.length } },
    };
  }

  function cohortPage(cohortId: string, url: URL): StubAnswer {
    const patients = exchange.cohorts.get(cohortId);
    if (patients === undefined)
      return { status: 404, body: { name: 'NOT_FOUND' } };
    const count = Number(url.searchParams.get('count') ?? 50);
    const from = patients.findIndex(
      ({ id }) => id === url.searchParams.get('fromItem'),
    );
    const first = Math.max(from, 0);
    const next = patients[first + count];
    const meta = {
      itemsInTotal: patients.length,
      ...(next === undefined
        ? {}
        : { nextPage: `${stub.url}/other?count=${count}&fromItem=${next.id}` }),
    };
    const page = patients
      .slice(first, first + count)
      .map(({ id, hieOptOut }) => ({
        id,
        ...(hieOptOut === undefined ? {} : { status: { hieOptOut } }),
      }));
    return { status: 200, body: { patients: page, meta } };
  }

  stub.answer = (request) => {
    const url = new URL(request.url, stub.url);
    const usual = (): StubAnswer => {
      const cohort = /^\/medical\/v1\/cohort\/([^/]+)\/patient$/.exec(
        url.pathname,
      )?.[1];
      if (cohort !== undefined) return cohortPage(cohort, url);
      if (url.pathname !== '/medical/v1/network/query')
        return { status: 404, body: {} };
      return request.method === 'POST' ? start(request, url) : list(url);
    };
    const answer = exchange.instead?.(request) ?? usual();
    return typeof answer === 'string'
      ? answer
      : { ...answer, headers: { ...exchange.headers, ...answer.headers } };
  };
  return exchange;
}

/** `p-00`, `p-01`, … */
export const patientsOf = (count: number, first = 0): { id: string }[] =>
  Array.from({ length: count }, (_, number) => ({
    id: `p-${String(first + number).padStart(2, '0')}`,
  }));

/** Patients with more than one query, or none. */
export const notOnce = (
  exchange: FakeExchange,
  patients: readonly { id: string }[],
): string[] =>
  patients.map(({ id }) => id).filter((id) => exchange.startedFor(id) !== 1);
