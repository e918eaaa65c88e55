import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { excludedByConsent } from '../../../../src/exchange/queries/network-query/rules/query-status.ts';
import type {
  MonitoredPage,
  PageInput,
} from '../../../../src/orchestrator/monitoring/monitored-page.ts';
import { workOnPage } from '../../../../src/orchestrator/monitoring/work-on-page.ts';
import {
  type FakeExchange,
  notOnce,
  patientsOf,
  startFakeExchange,
} from './fake-exchange.ts';

let exchange: FakeExchange;
beforeEach(async () => {
  exchange = await startFakeExchange();
});
afterEach(() => exchange.close());

const input = (changes: Partial<PageInput> = {}): PageInput => ({
  exchange: { credentialRef: 'api-key' },
  cohortId: 'cohort-a',
  kind: 'hie',
  frequency: 'weekly',
  dueAt: '2026-11-21T02:00:00.000Z',
  place: { handled: [], refusals: 0 },
  pageSize: 100,
  canList: true,
  ...changes,
});

interface Options {
  idempotency?: boolean;
  resume?: MonitoredPage;
  note?: (page: MonitoredPage) => void;
  isStopped?: () => boolean;
}

const work = (
  of: PageInput,
  { idempotency, resume, note, isStopped }: Options = {},
) =>
  workOnPage(
    {
      client: exchange.client({ idempotency }),
      hmacKey: 'hmac-key',
      note: note ?? (() => undefined),
      isStopped: isStopped ?? (() => false),
    },
    of,
    resume,
  );

/** Page after page until the cohort is done, as the workflow goes on. */
async function workAll(
  of: PageInput,
  options: Options = {},
): Promise<MonitoredPage[]> {
  const pages: MonitoredPage[] = [];
  let next: PageInput | undefined = of;
  while (next !== undefined && pages.length < 200) {
    const page: MonitoredPage = await work(next, options);
    pages.push(page);
    next = page.next && { ...next, place: page.next, canList: page.canList };
  }
  return pages;
}

const sum = (pages: MonitoredPage[], of: (page: MonitoredPage) => number) =>
  pages.reduce((total, page) => total + of(page), 0);

describe('a cohort', () => {
  test('is worked through page by page; each patient is asked about once, in the background, by its run', async () => {
    const patients = patientsOf(25);
    exchange.cohorts.set('cohort-a', patients);
    const pages = await workAll(input({ pageSize: 10 }));
    expect(pages).toMatchObject([
      { started: 10, patients: 25 },
      { started: 10 },
      { started: 5 },
    ]);
    expect(notOnce(exchange, patients)).toEqual([]);
    expect(exchange.queries[0]?.metadata).toEqual({
      'monitoring.cohortId': 'cohort-a',
      'monitoring.kind': 'hie',
      'monitoring.due': '2026-11-21T02:00:00.000Z',
    });
    const starts = exchange.requests.filter(({ method }) => method === 'POST');
    expect(new Set(starts.map(({ headers }) => headers.priority))).toEqual(
      new Set(['u=6']),
    );
    expect(
      new Set(starts.map(({ headers }) => headers['idempotency-key'])).size,
    ).toBe(25);
    expect(
      starts.every(({ headers }) =>
        /^[0-9a-f]{32}$/.test(String(headers['idempotency-key'])),
      ),
    ).toBe(true);
  });

  test('skips who has opted out of the hie, and who was asked about in this period', async () => {
    exchange.cohorts.set('cohort-a', [
      { id: 'out', hieOptOut: true },
      { id: 'asked' },
      { id: 'new' },
    ]);
    exchange.queries.push({
      requestId: 'before',
      patientId: 'asked',
      source: 'hie',
      startedAt: '2026-11-18T00:00:00Z',
    });
    const [page] = await workAll(input());
    expect(page).toMatchObject({
      started: 1,
      skipped: { alreadyAsked: 1, optedOut: 1, gone: 0 },
      failed: 0,
    });
    expect(exchange.startedFor('out')).toBe(0);
    const [pharmacy] = await workAll(input({ kind: 'pharmacy' }));
    expect(pharmacy).toMatchObject({ started: 3, skipped: { optedOut: 0 } });
  });

  test.each([
    ['of one night', ['2026-11-21T01:00:00.000Z', '2026-11-21T02:00:00.000Z']],
    [
      'days apart, both made up for now',
      ['2026-11-17T02:00:00.000Z', '2026-11-21T02:00:00.000Z'],
    ],
  ])(
    'that shares patients with another asks about them once, also in runs at the same moment, %s',
    async (_, dues) => {
      const patients = patientsOf(30);
      exchange.cohorts.set('cohort-a', patients);
      exchange.cohorts.set('cohort-b', [...patients]);
      const both = await Promise.all(
        ['cohort-a', 'cohort-b'].map((cohortId, of) =>
          workAll(input({ cohortId, dueAt: dues[of], pageSize: 7 })),
        ),
      );
      expect(notOnce(exchange, patients)).toEqual([]);
      const pages = both.flat();
      expect(sum(pages, ({ started }) => started)).toBe(30);
      expect(sum(pages, ({ skipped }) => skipped.alreadyAsked)).toBe(30);
      expect(sum(pages, ({ failed }) => failed)).toBe(0);
    },
  );

  test('waits a moment where another run is at the same patient, and asks about nobody twice', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(1));
    exchange.instead = ({ method }) =>
      method === 'POST' ? { status: 409, body: {} } : undefined;
    const page = await work(input({ place: { handled: [], refusals: 3 } }));
    expect(page).toMatchObject({
      started: 0,
      failed: 0,
      waitMs: 1_000,
      next: { refusals: 3 },
    });
  });

  test('counts who was deleted meanwhile, and goes on after one whom the exchange cannot take', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(4));
    exchange.instead = ({ method, url }) => {
      if (method === 'POST' && url.includes('p-01'))
        return { status: 404, body: {} };
      if (method === 'POST' && url.includes('p-02'))
        return { status: 409, body: {} };
      return undefined;
    };
    const [page] = await workAll(input(), { idempotency: false });
    expect(page).toMatchObject({ started: 2, skipped: { gone: 1 }, failed: 1 });
  });

  test('stops where the exchange refuses one after the other', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(50));
    exchange.instead = ({ method }) =>
      method === 'POST'
        ? {
            status: 200,
            body: {
              requestId: 'x',
              status: 'failed',
              sources: [],
              errors: [{ source: 'hie', httpStatus: 400 }],
            },
          }
        : undefined;
    expect(await work(input())).toMatchObject({
      started: 0,
      failed: 5,
      refused: true,
    });
  });

  test.each([
    [excludedByConsent('hie')],
    ['The patient has opted out of hie queries'],
  ])(
    'is asked about to its end, however many of its patients said no: %s',
    async (message) => {
      const patients = patientsOf(50);
      exchange.cohorts.set('cohort-a', patients);
      const unwilling = new Set(patients.slice(0, 20).map(({ id }) => id));
      exchange.instead = ({ method, url }) =>
        method === 'POST' &&
        unwilling.has(
          new URL(url, exchange.url).searchParams.get('patientId') ?? '',
        )
          ? {
              status: 200,
              body: {
                requestId: 'x',
                status: 'failed',
                sources: [],
                errors: [{ source: 'hie', httpStatus: 400, message }],
              },
            }
          : undefined;
      const pages = await workAll(input());
      expect(sum(pages, ({ started }) => started)).toBe(30);
      expect(sum(pages, ({ skipped }) => skipped.optedOut)).toBe(20);
      expect(pages.some(({ refused }) => refused)).toBe(false);
    },
  );

  test('whose next page leads nowhere fails instead of going round in circles', async () => {
    exchange.instead = () => ({
      status: 200,
      body: {
        patients: [],
        meta: { nextPage: 'https://elsewhere.example.org/?count=1' },
      },
    });
    await expect(work(input())).rejects.toMatchObject({
      kind: 'bad-answer',
      retryable: false,
    });
  });
});

describe('limits', () => {
  test('of a source: the page waits as long as the exchange says and goes on with whose turn it was', async () => {
    const patients = patientsOf(9);
    exchange.cohorts.set('cohort-a', patients);
    exchange.room = 4;
    const first = await work(input());
    expect(first).toMatchObject({
      started: 4,
      waitMs: 20_000,
      next: { refusals: 1 },
    });
    expect(first.next?.handled).toHaveLength(4);
    const again = await work(
      input({ place: first.next ?? { handled: [], refusals: 0 } }),
    );
    expect(again).toMatchObject({
      started: 0,
      waitMs: 20_000,
      next: { refusals: 2 },
    });
    exchange.room = undefined;
    await workAll(input({ place: again.next ?? { handled: [], refusals: 0 } }));
    expect(notOnce(exchange, patients)).toEqual([]);
  });

  test('of a source: whoever forgot how often it was refused finds out without waiting or asking twice', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(1));
    exchange.room = 0;
    const refused = await work(input());
    await work(input({ place: refused.next ?? { handled: [], refusals: 0 } }));
    exchange.room = undefined;
    expect(await work(input())).toMatchObject({ started: 1 });
    expect(await work(input())).toMatchObject({ started: 1 });
    expect(exchange.startedFor('p-00')).toBe(1);
  });

  test('of a source: whoever meets many refusals of another cohort waits and starts in the end', async () => {
    for (const cohortId of ['cohort-a', 'cohort-b'])
      exchange.cohorts.set(cohortId, patientsOf(1));
    exchange.room = 0;
    let place: PageInput['place'] = { handled: [], refusals: 0 };
    for (let refusals = 0; refusals < 25; refusals += 1)
      place = (await work(input({ place }))).next ?? place;
    exchange.room = undefined;
    const pages = await workAll(input({ cohortId: 'cohort-b' }));
    expect(pages).toMatchObject([
      { started: 0, failed: 0, waitMs: 1_000 },
      { started: 1 },
    ]);
  });

  test('of requests: a 429 leaves the page where it stands', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(5));
    exchange.instead = ({ method }) =>
      method === 'POST' && exchange.queries.length === 2
        ? { status: 429, body: {}, headers: { 'retry-after': '7' } }
        : undefined;
    expect(await work(input())).toMatchObject({
      started: 2,
      waitMs: 7_000,
      failed: 0,
    });
  });

  test('of requests: the last fifth is left to others', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(5));
    exchange.headers = {
      ratelimit: '"requests";r=239;t=31',
      'ratelimit-policy': '"requests";q=1200;w=60',
    };
    expect(await work(input())).toMatchObject({
      started: 0,
      waitMs: 31_000,
      requestLimit: 1_200,
      requests: 1,
    });
    exchange.headers.ratelimit = '"requests";r=240;t=31';
    expect(await work(input())).toMatchObject({ started: 5, next: undefined });
  });
});

describe('a page that was cut off', () => {
  test('goes on after the last patient that it had told of', async () => {
    const patients = patientsOf(8);
    exchange.cohorts.set('cohort-a', patients);
    let told: MonitoredPage | undefined;
    exchange.instead = ({ method }) =>
      method === 'POST' && exchange.queries.length === 5
        ? { status: 503, body: {} }
        : undefined;
    const note = (page: MonitoredPage) => {
      told = structuredClone(page);
    };
    await expect(work(input(), { note })).rejects.toMatchObject({
      kind: 'unavailable',
      retryable: true,
    });
    exchange.instead = undefined;
    const lookedAt = exchange.requests.length;
    expect(await work(input(), { resume: told })).toMatchObject({
      started: 8,
      failed: 0,
      next: undefined,
    });
    expect(exchange.requests.length - lookedAt).toBe(1 + 3 * 2);
    expect(notOnce(exchange, patients)).toEqual([]);
  });

  test('before anybody heard of it counts what it had started as its own', async () => {
    const patients = patientsOf(6);
    exchange.cohorts.set('cohort-a', patients);
    await work(input());
    expect(await work(input())).toMatchObject({
      started: 6,
      skipped: { alreadyAsked: 0 },
    });
    expect(notOnce(exchange, patients)).toEqual([]);
  });

  test('on request ends with what it has done', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(6));
    const page = await work(input(), {
      isStopped: () => exchange.queries.length === 2,
    });
    expect(page).toMatchObject({
      started: 2,
      next: { handled: ['p-00', 'p-01'] },
    });
    expect(page.waitMs).toBeUndefined();
  });

  test('in the middle of a start is not sent again where no key protects it; the list tells what became of it', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(2));
    exchange.instead = (request) => {
      if (request.method !== 'POST' || !request.url.includes('p-00'))
        return undefined;
      exchange.queries.push({
        requestId: 'lost',
        patientId: 'p-00',
        source: 'hie',
        startedAt: exchange.now,
        metadata: JSON.parse(request.body).metadata,
      });
      return 'cut';
    };
    expect(await work(input(), { idempotency: false })).toMatchObject({
      started: 2,
      failed: 0,
    });
    expect(exchange.startedFor('p-00')).toBe(1);
  });
});

describe('another service', () => {
  test('that lists no queries gets one query for each cohort and patient, once each', async () => {
    exchange.hasList = false;
    const patients = patientsOf(6);
    exchange.cohorts.set('cohort-a', patients);
    exchange.cohorts.set('cohort-b', patients);
    const [page] = await workAll(input());
    expect(page).toMatchObject({ started: 6, canList: false });
    await workAll(input());
    await workAll(input({ cohortId: 'cohort-b' }));
    expect(patients.map(({ id }) => exchange.startedFor(id))).toEqual(
      Array(6).fill(2),
    );
    const looks = exchange.requests.filter(
      ({ method, url }) => method === 'GET' && !url.includes('/cohort/'),
    );
    expect(looks.length).toBe(3);
  });

  test('that shows no metadata is not asked a week late, though last week’s queries were late', async () => {
    exchange.showsMetadata = false;
    exchange.cohorts.set('cohort-a', patientsOf(3));
    exchange.now = '2026-11-21T20:00:00Z';
    await workAll(input());
    exchange.now = '2026-11-28T02:05:00Z';
    const [page] = await workAll(input({ dueAt: '2026-11-28T02:00:00.000Z' }));
    expect(page).toMatchObject({ started: 3 });
  });

  test('that ignores the filter of patients is read right', async () => {
    exchange.cohorts.set('cohort-a', patientsOf(1));
    exchange.instead = ({ method, url }) =>
      method === 'GET' && !url.includes('/cohort/')
        ? {
            status: 200,
            body: {
              queries: [
                {
                  requestId: 'q',
                  patientId: 'somebody',
                  status: 'x',
                  startedAt: exchange.now,
                  sources: [],
                },
              ],
            },
          }
        : undefined;
    expect(await work(input())).toMatchObject({ started: 1 });
  });
});
