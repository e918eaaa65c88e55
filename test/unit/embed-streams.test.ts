import { describe, expect, test } from 'vitest';
import {
  queryProgress,
  type ShownQuery,
  type WatchOptions,
  watchQueries,
} from '../../src/exchange/delivery/embed/data-routes.ts';
import { pagePolicy } from '../../src/exchange/delivery/embed/page-routes.ts';
import { Permits } from '../../src/exchange/platform/limits/permits.ts';
import type { StoredQueryView } from '../../src/exchange/queries/network-query/query-store.ts';

const query = (status: ShownQuery['status']): ShownQuery => ({
  requestId: '1',
  status,
  startedAt: '2026-11-21T10:00:00.000Z',
  sources: [],
});

const found = (...queries: ShownQuery[]) => ({
  queries,
  total: queries.length,
});

/** What a watcher hears until the stream ends. */
async function hear(
  options: Partial<WatchOptions> & Pick<WatchOptions, 'read'>,
): Promise<string[]> {
  const heard: string[] = [];
  const { signal } = new AbortController();
  const pollMs = { running: 1, idle: 1 };
  for await (const text of watchQueries({
    isGood: async () => true,
    signal,
    pollMs,
    ...options,
  }))
    heard.push(
      text.replace(/\n.*/s, '').replace('event: ', '') +
        (/"reason":"(\w+)"/.exec(text)?.[1] ?? ''),
    );
  return heard;
}

describe('the events of the embedded page', () => {
  test('tell what changed, once, and end when the patient is gone', async () => {
    const seen = [
      found(query('running')),
      found(query('running')),
      found(query('completed')),
      undefined,
    ];
    expect(await hear({ read: async () => seen.shift() })).toEqual([
      'session',
      'queries',
      'queries',
      'endgone',
    ]);
  });

  test('end when the token or its key is revoked, before another look', async () => {
    const good = [true, false];
    let looks = 0;
    const read = async () => {
      looks += 1;
      return found();
    };
    expect(
      await hear({ read, isGood: async () => good.shift() ?? false }),
    ).toEqual(['session', 'queries', 'endrevoked']);
    expect(looks).toBe(1);
  });

  test('end with the token, and after a while by themselves', async () => {
    const read = async () => found(query('running'));
    expect(
      (await hear({ read, expiresAt: new Date(Date.now() + 5) })).at(-1),
    ).toBe('endexpired');
    expect((await hear({ read, lifetimeMs: 5 })).at(-1)).toBe('endrenew');
  });

  test('end quietly when nobody listens any more', async () => {
    const listener = new AbortController();
    const read = async () => {
      listener.abort();
      return found();
    };
    expect(await hear({ read, signal: listener.signal })).toEqual([
      'session',
      'queries',
    ]);
  });
});

describe('permits for streams', () => {
  test('are as many as are allowed, over all, for each account and each token, and free again when left', () => {
    const permits = new Permits({ all: 3, account: 2, holder: 1 });
    const first = permits.take('a', 'token 1');
    expect(() => permits.take('a', 'token 1')).toThrow('Too many');
    permits.take('a', 'token 2');
    expect(() => permits.take('a', 'token 3')).toThrow('Too many');
    permits.take('b', 'token 4');
    expect(() => permits.take('c', 'token 5')).toThrow('Too many');
    first.leave();
    first.leave();
    expect(first.signal.aborted).toBe(true);
    permits.take('c', 'token 5');
    expect(() => permits.take('a', 'token 1')).toThrow('Too many');
  });

  test('are all ended when the gateway closes, and none is given any more', () => {
    const permits = new Permits();
    const { signal } = permits.take('a', 'token');
    permits.close();
    expect(signal.aborted).toBe(true);
    expect(() => permits.take('a', 'token')).toThrow('Too many');
  });
});

describe('the progress of a query', () => {
  const attempt = {
    attempt: 1,
    run: 0,
    willRetry: false,
    startedAt: new Date(0),
    resources: 0,
  };
  const view = (...attempts: StoredQueryView['attempts']): StoredQueryView => ({
    requestId: '1',
    patientId: '2',
    status: 'failed',
    startedAt: new Date(0),
    metadata: null,
    externalId: null,
    attempts,
    errors: [],
  });
  const failed = { ...attempt, status: 'failed' as const };

  test('tells what was cancelled from what failed, and what is due again', () => {
    const cancelled = {
      ...failed,
      source: 'hie' as const,
      reason: 'Cancelled on request',
    };
    expect(queryProgress(view(cancelled))).toMatchObject({
      status: 'cancelled',
      sources: [{ status: 'cancelled' }],
    });
    const both = queryProgress(
      view(cancelled, { ...failed, source: 'lab', reason: 'No answer' }),
    );
    expect([both.status, both.sources.map(({ status }) => status)]).toEqual([
      'failed',
      ['cancelled', 'failed'],
    ]);
    const again = queryProgress(
      view({ ...failed, source: 'lab', willRetry: true }),
    );
    expect(again.sources[0]?.status).toBe('waiting');
  });
});

describe('the policy of the embedded page', () => {
  test('names the origins given, and nothing that is none', () => {
    expect(pagePolicy([])).toContain("frame-ancestors 'none'");
    const policy = pagePolicy([
      'https://ehr.example.org',
      "https://x; script-src 'unsafe-inline'",
      '*',
    ]);
    expect(policy).toContain('frame-ancestors https://ehr.example.org;');
    expect(policy).not.toContain('unsafe');
  });
});
