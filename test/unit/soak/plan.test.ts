import { expect, test } from 'vitest';
import { FAULT_KINDS, FAULT_TARGETS, type PlannedFault, planFaults } from '../../../bench/soak/mixed/plan.ts';
import { seededRandom } from '../../support/seeded-random.ts';

function take(seed: number, count: number): PlannedFault[] {
  const faults: PlannedFault[] = [];
  for (const fault of planFaults(seededRandom(seed))) if (faults.push(fault) === count) break;
  return faults;
}

test('the same seed gives the same faults, another seed others', () => {
  expect(take(1, 30)).toEqual(take(1, 30));
  expect(take(2, 30)).not.toEqual(take(1, 30));
});

test('every kind comes once before one comes again, and befalls every target in time', () => {
  const kinds = FAULT_KINDS.length;
  const faults = take(1, kinds * 7);
  for (let round = 0; round < 7; round += 1)
    expect(new Set(faults.slice(round * kinds, (round + 1) * kinds).map(({ kind }) => kind)).size).toBe(
      kinds,
    );
  const befallen = new Set(faults.map(({ kind, target }) => `${kind} ${target}`));
  expect(befallen.size).toBe(Object.values(FAULT_TARGETS).flat().length);
});
