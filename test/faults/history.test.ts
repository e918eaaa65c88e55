import { describe, expect, test } from 'vitest';
import { judgeHistory, type RecordedCall } from './models/history.ts';

const ID = '0199aaaa-0000-7000-8000-000000000001';
const PATIENT = '0199aaaa-0000-7000-8000-000000000002';
const call = (
  fromMs: number,
  method: string,
  path: string,
  status: number,
  body?: unknown,
): RecordedCall => ({
  method,
  path,
  status,
  body,
  fromMs,
  toMs: fromMs + 10,
});
const start = (fromMs: number) =>
  call(fromMs, 'POST', `network/query?patientId=${PATIENT}`, 200, {
    requestId: ID,
  });
const reading = (fromMs: number, ...statuses: string[]) =>
  call(fromMs, 'GET', `network/query/${ID}`, 200, {
    sources: statuses.map((status) => ({ type: 'lab', status })),
  });
const steer = (fromMs: number, what: string) =>
  call(fromMs, 'POST', `network/query/${ID}/${what}`, 200);
const webhook = (atMs: number, seq = 1) => ({
  at: new Date(atMs).toISOString(),
  messageId: `message ${seq}`,
  seq,
  type: 'network-query.lab',
  requestId: ID,
});

describe('the judge of what a client has seen', () => {
  test('finds no fault where all is well, whatever overlaps', () => {
    const calls = [
      start(0),
      reading(20, 'in-progress'),
      reading(40, 'failed'),
      // During the retry the old state and the new one are both right.
      { ...steer(60, 'source/lab/retry'), toMs: 200 },
      reading(100, 'failed', 'in-progress'),
      reading(105, 'failed'),
      steer(220, 'cancel'),
      reading(240, 'failed', 'failed'),
      call(260, 'DELETE', `patient/${PATIENT}`, 204),
      call(280, 'GET', `patient/${PATIENT}`, 404),
      call(280, 'GET', `network/query/${ID}`, 404),
    ];
    expect(
      judgeHistory(calls, [webhook(35), webhook(38), webhook(230, 2)]),
    ).toEqual([]);
  });

  test.each([
    [
      'an end that is taken back',
      [reading(0, 'completed'), reading(20, 'in-progress')],
      'and later lab in-progress',
    ],
    [
      'an attempt that vanishes',
      [reading(0, 'failed', 'in-progress'), reading(20, 'failed')],
      'and later lab failed',
    ],
    [
      'a start that is forgotten',
      [start(0), call(20, 'GET', `network/query/${ID}`, 404)],
      'later not found',
    ],
    [
      'a cancelling without effect',
      [steer(0, 'cancel'), reading(20, 'in-progress')],
      'was cancelled',
    ],
    [
      'a deleted patient who is back',
      [
        call(0, 'DELETE', `patient/${PATIENT}`, 204),
        call(20, 'GET', `patient/${PATIENT}`, 200),
      ],
      'was deleted',
    ],
  ])('finds %s', (_, calls, fault) => {
    expect(judgeHistory(calls, [])).toEqual([expect.stringContaining(fault)]);
  });

  test('finds a webhook that came before what it announces, and one that came out of order', () => {
    expect(judgeHistory([reading(20, 'in-progress')], [webhook(0)])).toEqual([
      expect.stringContaining('was announced, and later lab in-progress'),
    ]);
    expect(judgeHistory([], [webhook(0, 2), webhook(1, 1)])).toEqual([
      expect.stringContaining('webhook 1 of'),
    ]);
  });
});
