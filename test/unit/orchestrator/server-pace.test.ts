import { describe, expect, test } from 'vitest';
import { serverPace } from '../../../src/orchestrator/client/server-pace.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

describe('what an answer tells of its service’s limits', () => {
  test.each([
    ['nothing', {}, {}],
    ['a wait in seconds', { 'retry-after': '12' }, { retryAfterMs: 12_000 }],
    [
      'a wait until a date',
      { 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' },
      { retryAfterMs: 30_000 },
    ],
    [
      'state and policy',
      {
        ratelimit: '"requests";r=110;t=42',
        'ratelimit-policy': '"requests";q=1200;w=60',
      },
      { requests: { remaining: 110, resetMs: 42_000, limit: 1_200 } },
    ],
    [
      'a state alone',
      { ratelimit: '"a"; r=0; t=1' },
      { requests: { remaining: 0, resetMs: 1_000 } },
    ],
    [
      'the headers of earlier drafts',
      {
        'ratelimit-remaining': '7',
        'ratelimit-reset': '30',
        'ratelimit-limit': '100',
      },
      { requests: { remaining: 7, resetMs: 30_000, limit: 100 } },
    ],
    [
      'nonsense',
      {
        ratelimit: 'plenty',
        'retry-after': 'later',
        'ratelimit-remaining': '-1',
      },
      {},
    ],
  ])('%s', (_what, headers, expected) => {
    expect(serverPace(headers, NOW)).toEqual(expected);
  });
});
