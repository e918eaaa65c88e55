import { expect, test } from 'vitest';
import { judgeRequests } from '../../../bench/soak/cluster/judge-requests.ts';
import type { ProxyRefusal } from '../../../tools/cluster/proxy/refusals.ts';

const STARTED_AT = Date.parse('2026-11-22T12:00:00Z');
const at = (seconds: number) => STARTED_AT + seconds * 1_000;
const FAULTS = [
  { what: 'S3 server killed (seaweedfs)', beganAt: at(100), endedAt: at(120) },
];

const refused = (
  seconds: number,
  more: Partial<ProxyRefusal> = {},
): ProxyRefusal => ({
  receivedAt: new Date(at(seconds)).toISOString(),
  endedAt: new Date(at(seconds + 1)).toISOString(),
  method: 'GET',
  path: '/links/document/:id',
  status: 503,
  detail: 'The store of files is away',
  isPostponed: true,
  ...more,
});

test('requests that were postponed while a fault lasted, and shortly after, are reported and no loss', () => {
  const { lines, losses } = judgeRequests(
    [refused(100), refused(110), refused(128)],
    FAULTS,
  );
  expect(lines).toEqual([
    expect.stringMatching(
      /^from 0 s, 3 times 503 GET .* S3 server killed .* files/,
    ),
  ]);
  expect(losses).toEqual([]);
});

test('a request that was postponed without a fault is a loss', () => {
  const { losses } = judgeRequests([refused(50), refused(140)], FAULTS);
  expect(losses).toEqual([
    expect.stringMatching(/from -50 s, 2 times 503 .* no fault/),
  ]);
});

test('a request that failed is a loss, also while a fault lasted', () => {
  const failed = refused(110, { status: 500, isPostponed: false });
  expect(judgeRequests([failed], FAULTS).losses).toHaveLength(1);
});

test('a fault that still lasts counts', () => {
  const lasting = [
    { what: 'PostgreSQL restarted (PostgreSQL)', beganAt: at(100) },
  ];
  expect(judgeRequests([refused(500)], lasting).losses).toEqual([]);
});
