import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { parseWorkerQueues } from '../../../src/temporal/task-queues.ts';
import { poolWarning } from '../../../src/worker/pool-size.ts';

const warning = (queues: string, poolMax: number) =>
  poolWarning(parseWorkerQueues(queues), poolMax);

describe('the connections of a worker', () => {
  test('are enough by default, for all queues', () => {
    expect(
      warning('all', readConfig(['DATABASE_POOL_MAX'], {}).DATABASE_POOL_MAX),
    ).toBeUndefined();
  });

  test('are too few below one for ten activities, and the warning says what to set', () => {
    expect(warning('all', 20)).toBeUndefined();
    expect(warning('all', 19)).toMatch(
      /is 19, too few for the 200 .* at least 20, or serve fewer queues/,
    );
    expect(warning('source-hie source-lab', 4)).toBeUndefined();
    expect(warning('source-hie source-lab', 3)).toMatch(/at least 4/);
  });

  test('are not counted for the orchestrator, which uses no database', () => {
    expect(warning('orchestrator', 2)).toBeUndefined();
  });
});
