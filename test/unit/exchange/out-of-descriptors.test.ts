import { expect, test } from 'vitest';
import { toErrorResponse } from '../../../src/exchange/platform/http/errors.ts';
import { LineBudget } from '../../../src/lib/line-budget.ts';

test.each(['EMFILE', 'ENFILE'])(
  'a gateway without descriptors (%s) asks to be tried again',
  (code) => {
    const error = Object.assign(new Error(`connect ${code}`), { code });
    const { status, headers, body } = toErrorResponse(error, 'r');
    expect([status, headers['retry-after'], body.detail]).toEqual([
      503,
      '5',
      expect.stringContaining('as many connections and files open'),
    ]);
  },
);

test('of many lines in a second some are written, and the next one says how many were not', () => {
  let now = 0;
  const budget = new LineBudget(2, () => now);
  const taken = Array.from({ length: 5 }, () => budget.take());
  now = 1_000;
  expect([...taken, budget.take()]).toEqual([
    { left: 0 },
    { left: 0 },
    undefined,
    undefined,
    undefined,
    { left: 3 },
  ]);
});
