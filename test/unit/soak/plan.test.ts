import { expect, test } from 'vitest';
import {
  FAULT_KINDS,
  FAULT_TARGETS,
  type PlannedFault,
  planBriefly,
  planFaults,
  ROUND,
} from '../../../bench/soak/mixed/plan.ts';
import { seededRandom } from '../../support/seeded-random.ts';

function take(seed: number, count: number): PlannedFault[] {
  const faults: PlannedFault[] = [];
  for (const fault of planFaults(seededRandom(seed)))
    if (faults.push(fault) === count) break;
  return faults;
}

test('the same seed gives the same faults, another seed others', () => {
  expect(take(1, 30)).toEqual(take(1, 30));
  expect(take(2, 30)).not.toEqual(take(1, 30));
});

test('every round has each kind, three kills among them, and every target is befallen in time', () => {
  const length = ROUND.length;
  const faults = take(1, length * 7);
  for (let round = 0; round < 7; round += 1)
    expect(
      faults
        .slice(round * length, (round + 1) * length)
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual([...ROUND].sort());
  expect(ROUND.filter((kind) => kind === 'killed')).toHaveLength(3);
  const befallen = new Set(
    faults.map(({ kind, target }) => `${kind} ${target}`),
  );
  expect(befallen.size).toBe(Object.values(FAULT_TARGETS).flat().length);
});

test('the short form has each kind once', () => {
  for (let seed = 1; seed <= 20; seed += 1)
    expect(
      planBriefly(seededRandom(seed))
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual([...FAULT_KINDS].sort());
});
