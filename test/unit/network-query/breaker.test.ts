import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  SHORT_WAIT_MAX_MS,
  waitAfterFailedCalls,
} from '../../../src/exchange/queries/network-query/rules/retries.ts';
import {
  admission,
  afterFailure,
  backgroundHoldMs,
  FAILURES_TO_OPEN,
  newConnection,
  PROBE_LEASE_MS,
  waitWhileHeld,
} from '../../../src/exchange/sources/health/rules/breaker.ts';
import { property } from '../../support/property.ts';

const reason = 'lab answered 401 to the token request';
const afterFailures = (attempts: readonly string[], now = 0) =>
  attempts.reduce(
    (state, attempt) => afterFailure(state, { attempt, reason }, now),
    newConnection('lab'),
  );

describe('a breaker', () => {
  property([
    fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), {
      maxLength: 40,
    }),
  ])(
    'opens exactly when enough different attempts have failed, however often each',
    (attempts) => {
      const isOpen = afterFailures(attempts).openedAt !== undefined;
      expect(isOpen).toBe(new Set(attempts).size >= FAILURES_TO_OPEN);
    },
  );

  property([fc.integer({ min: 0, max: 60 })])(
    'probes ever less often, at most every two minutes',
    (probes) => {
      const open = afterFailures(['a', 'b', 'c', 'd', 'e'], 1_000);
      // As the store does when a worker takes the probe.
      const taken = {
        ...open,
        probes,
        ...(probes > 0 ? { nextProbeAt: 1_000 + PROBE_LEASE_MS } : {}),
      };
      const state = afterFailure(taken, { attempt: 'e', reason }, 1_000);
      const waitMs = (state.nextProbeAt ?? 0) - 1_000;
      expect(waitMs).toBe(Math.min(15_000 * 2 ** probes, 120_000));
      expect(admission(state, 1_000)).toEqual({ kind: 'wait', reason });
      expect(admission(state, state.nextProbeAt ?? 0)).toEqual({
        kind: 'probe',
      });
      expect(backgroundHoldMs(state, 1_000)).toBe(waitMs);
      expect(backgroundHoldMs(state, state.nextProbeAt ?? 0)).toBe(0);
    },
  );

  property([fc.integer({ min: 0, max: 100 })])(
    'does not put the first probe off because of calls that began before it opened',
    (stragglers) => {
      const late = Array.from(
        { length: stragglers },
        (_, index) => `late ${index}`,
      );
      const state = afterFailures(['a', 'b', 'c', 'd', 'e', ...late], 1_000);
      expect(state.nextProbeAt).toBe(16_000);
      expect(state.probes).toBe(0);
    },
  );

  test('that is paused lets no probe through either', () => {
    const paused = {
      ...newConnection('lab'),
      paused: { at: 0, by: 'me', reason: 'maintenance' },
    };
    expect(admission(paused, 1e12)).toEqual({
      kind: 'wait',
      reason: 'paused by an operator (maintenance)',
      isPaused: true,
    });
    expect(backgroundHoldMs(paused, 1e12)).toBeGreaterThan(0);
  });

  property([
    fc.integer({ min: 0, max: 14 * 86_400_000 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  ])(
    'makes queries wait half a minute to a quarter of an hour, give or take a half',
    (awayMs, random) => {
      const waitMs = waitWhileHeld(
        { ...newConnection('lab'), openedAt: 0 },
        awayMs,
        random,
      );
      expect(waitMs).toBeGreaterThanOrEqual(15_000);
      expect(waitMs).toBeLessThanOrEqual(22.5 * 60_000);
    },
  );
});

describe('the wait after failed calls', () => {
  const calls = fc.integer({ min: 1, max: 10_000 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  property([calls, random])(
    'is at most half an hour, and shorter only for the first calls',
    (failed, luck) => {
      const waitMs = waitAfterFailedCalls(failed, undefined, luck);
      expect(waitMs).toBeGreaterThanOrEqual(800);
      expect(waitMs).toBeLessThanOrEqual(30 * 60_000);
      if (failed > 6) expect(waitMs).toBeGreaterThan(SHORT_WAIT_MAX_MS);
    },
  );

  property([calls, random, fc.integer({ min: 0, max: 86_400_000 })])(
    'is never shorter than the source asks for',
    (failed, luck, retryAfterMs) => {
      expect(
        waitAfterFailedCalls(failed, retryAfterMs, luck),
      ).toBeGreaterThanOrEqual(retryAfterMs);
    },
  );
});
