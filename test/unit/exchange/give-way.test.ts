import { expect, test } from 'vitest';
import { givingWay } from '../../../src/exchange/platform/recovery/reconciler.ts';
import type { Recovery } from '../../../src/exchange/platform/recovery/recovery.ts';

function comparing() {
  const state = { isImporting: false, isBehind: true, slices: 0, now: 0 };
  const recovery: Recovery = {
    name: 'patients to compare',
    takeUp: async ({ cursor }) => {
      state.slices += 1;
      return {
        found: 1,
        healed: 1,
        failures: [],
        isBehind: state.isBehind,
        cursor: `${cursor}+`,
      };
    },
  };
  const waiting = givingWay(recovery, async () => state.isImporting, {
    longestWaitMs: 100,
    now: () => state.now,
  });
  const round = (cursor = 'a') =>
    waiting.takeUp({
      limit: 500,
      signal: new AbortController().signal,
      recheckBefore: new Date(),
      cursor,
    });
  return { state, round };
}

test('what can wait begins no slice during an import, and goes on from the same place at once after it', async () => {
  const { state, round } = comparing();
  state.isImporting = true;
  expect(await round('17')).toEqual({
    found: 0,
    healed: 0,
    failures: [],
    isBehind: true,
    cursor: '17',
  });
  expect(state.slices).toBe(0);
  state.isImporting = false;
  expect(await round('17')).toMatchObject({ found: 1, cursor: '17+' });
});

test('imports one after the other delay what can wait by a limited time, however short the gaps', async () => {
  const { state, round } = comparing();
  state.isImporting = true;
  await round();
  state.isImporting = false;
  state.now = 50;
  await round();
  state.isImporting = true;
  state.now = 99;
  await round();
  expect(state.slices).toBe(1);
  state.now = 100;
  await round();
  await round();
  expect(state.slices).toBe(3);
});

test('after all is done, what can wait gives way to the next import again', async () => {
  const { state, round } = comparing();
  state.isImporting = true;
  await round();
  state.now = 100;
  state.isBehind = false;
  await round();
  expect(state.slices).toBe(1);
  await round();
  expect(state.slices).toBe(1);
});
