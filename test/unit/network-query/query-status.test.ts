import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import {
  type AttemptStanding,
  lastAttempts,
  overallStatus,
} from '../../../src/exchange/queries/network-query/rules/query-status.ts';
import { property } from '../../support/property.ts';

/** Attempts of one source as they come to be: all but the last have failed. */
const attemptsOf = (source: SourceType) =>
  fc
    .record({
      before: fc.integer({ min: 0, max: 4 }),
      last: fc.constantFrom('running', 'completed', 'failed', 'due' as const),
    })
    .map(({ before, last }): AttemptStanding[] => [
      ...Array.from({ length: before }, (_, index) => ({
        source,
        attempt: index + 1,
        status: 'failed' as const,
        willRetry: false,
      })),
      {
        source,
        attempt: before + 1,
        status: last === 'due' ? 'failed' : last,
        willRetry: last === 'due',
      },
    ]);

const query = fc
  .subarray([...SOURCE_TYPES])
  .chain((sources) => fc.tuple(...sources.map(attemptsOf)))
  .map((bySource) => bySource.flat());

const shuffled = query.chain((attempts) =>
  fc.tuple(
    fc.constant(attempts),
    fc.shuffledSubarray(attempts, {
      minLength: attempts.length,
      maxLength: attempts.length,
    }),
  ),
);

describe('the overall status of a query', () => {
  property([shuffled])(
    'does not depend on the order of the attempts',
    ([attempts, otherOrder]) => {
      expect(overallStatus(otherOrder)).toBe(overallStatus(attempts));
    },
  );

  property([query])(
    'is running exactly while a source runs or is due for another attempt',
    (attempts) => {
      const isOpen = attempts.some(
        ({ status, willRetry }) => status === 'running' || willRetry,
      );
      expect(overallStatus(attempts) === 'running').toBe(isOpen);
    },
  );

  property([query])(
    'is decided by the last attempt of each source, once all have ended',
    (attempts) => {
      const status = overallStatus(attempts);
      if (status === 'running') return;
      const ends = new Set(
        lastAttempts(attempts).map((attempt) => attempt.status),
      );
      const expected = ends.has('completed')
        ? ends.has('failed')
          ? 'partial'
          : 'completed'
        : 'failed';
      expect(status).toBe(expected);
    },
  );

  test('is failed when no source could start', () => {
    expect(overallStatus([])).toBe('failed');
  });
});
