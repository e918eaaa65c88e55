import { describe, expect, it } from 'vitest';
import { pagePolicy } from '../../src/exchange/embed/page-policy.ts';
import type { QueryProgress } from '../../src/exchange/embed/query-progress.ts';
import { StreamPlaces } from '../../src/exchange/embed/stream-places.ts';
import { type WatchOptions, watchQueries } from '../../src/exchange/embed/watch-queries.ts';

const query = (status: QueryProgress['status']): QueryProgress => ({
  requestId: '1',
  status,
  startedAt: '2026-11-21T10:00:00.000Z',
  sources: [],
});

/** What a watcher hears until the stream ends. */
async function hear(options: Partial<WatchOptions> & Pick<WatchOptions, 'read'>): Promise<string[]> {
  const heard: string[] = [];
  const { signal } = new AbortController();
  const pollMs = { running: 1, idle: 1 };
  for await (const text of watchQueries({ isGood: async () => true, signal, pollMs, ...options }))
    heard.push(text.replace(/\n.*/s, '').replace('event: ', '') + (/"reason":"(\w+)"/.exec(text)?.[1] ?? ''));
  return heard;
}

describe('the events of the embedded page', () => {
  it('tell what changed, once, and end when the patient is gone', async () => {
    const seen = [[query('running')], [query('running')], [query('completed')], undefined];
    expect(await hear({ read: async () => seen.shift() })).toEqual([
      'session',
      'queries',
      'queries',
      'endgone',
    ]);
  });

  it('end when the token or its key is revoked, before another look', async () => {
    const good = [true, false];
    let looks = 0;
    const read = async () => {
      looks += 1;
      return [];
    };
    expect(await hear({ read, isGood: async () => good.shift() ?? false })).toEqual([
      'session',
      'queries',
      'endrevoked',
    ]);
    expect(looks).toBe(1);
  });

  it('end with the token, and after a while by themselves', async () => {
    const read = async () => [query('running')];
    expect((await hear({ read, expiresAt: new Date(Date.now() + 5) })).at(-1)).toBe('endexpired');
    expect((await hear({ read, lifetimeMs: 5 })).at(-1)).toBe('endrenew');
  });

  it('end quietly when nobody listens any more', async () => {
    const listener = new AbortController();
    const read = async () => {
      listener.abort();
      return [];
    };
    expect(await hear({ read, signal: listener.signal })).toEqual(['session', 'queries']);
  });
});

describe('places for streams', () => {
  it('are as many as are allowed, over all and for each account, and free again when left', () => {
    const places = new StreamPlaces({ all: 3, account: 2 });
    const first = places.take('a');
    places.take('a');
    expect(() => places.take('a')).toThrow('Too many');
    places.take('b');
    expect(() => places.take('c')).toThrow('Too many');
    places.leave('a', first);
    places.leave('a', first);
    expect(first.signal.aborted).toBe(true);
    places.take('c');
    expect(() => places.take('a')).toThrow('Too many');
  });

  it('are all ended when the gateway closes, and none is given any more', () => {
    const places = new StreamPlaces();
    const place = places.take('a');
    places.close();
    expect(place.signal.aborted).toBe(true);
    expect(() => places.take('a')).toThrow('Too many');
  });
});

describe('the policy of the embedded page', () => {
  it('names the origins given, and nothing that is none', () => {
    expect(pagePolicy([])).toContain("frame-ancestors 'none'");
    const policy = pagePolicy(['https://ehr.example.org', "https://x; script-src 'unsafe-inline'", '*']);
    expect(policy).toContain('frame-ancestors https://ehr.example.org;');
    expect(policy).not.toContain('unsafe');
  });
});
