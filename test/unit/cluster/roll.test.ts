import { expect, test } from 'vitest';
import {
  rollInTurn,
  startWorkers,
  WORKER_GROUPS,
} from '../../../tools/cluster/cluster.ts';
import type {
  NodePart,
  StackSite,
} from '../../../tools/embedded/open-stack.ts';

test('a roll that failed does not prevent the next one', async () => {
  const builds: number[] = [];
  const roll = rollInTurn(async (build) => {
    builds.push(build);
    if (build === 2) throw new Error('Temporal is away');
  });
  await expect(roll()).rejects.toThrow('Temporal is away');
  await roll();
  expect(builds).toEqual([2, 3]);
});

test('rolls that are requested at once are done one after the other', async () => {
  const steps: string[] = [];
  const roll = rollInTurn(async (build) => {
    steps.push(`begin ${build}`);
    await new Promise(setImmediate);
    steps.push(`end ${build}`);
  });
  await Promise.all([roll(), roll()]);
  expect(steps).toEqual(['begin 2', 'end 2', 'begin 3', 'end 3']);
});

test('the first workers take over from the build of an earlier run, but not when one of them is started again', async () => {
  const parts: (() => Omit<NodePart, 'name'>)[] = [];
  const site = {
    startNode: async (_: string, part: () => Omit<NodePart, 'name'>) =>
      void parts.push(part),
  } as unknown as StackSite;
  const versionings = () =>
    parts.map((part) => part().environment.WORKER_VERSIONING);

  await startWorkers(site, {}, { build: 1, alone: true });
  const each = (versioning: string) =>
    Object.keys(WORKER_GROUPS).map(() => versioning);
  expect(versionings()).toEqual(each('alone'));
  expect(versionings()).toEqual(each('on'));
});
