import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { parseWorkerQueues } from '../../../src/temporal/worker-queues.ts';
import { poolWarning } from '../../../src/worker/pool-size.ts';

const warning = (queues: string, poolMax: number) => poolWarning(parseWorkerQueues(queues), poolMax);

describe('the connections of a worker', () => {
  test('are enough by default, for all queues', () => {
    expect(warning('all', readConfig(['DATABASE_POOL_MAX'], {}).DATABASE_POOL_MAX)).toBeUndefined();
  });

  test('are too few below one for six activities, and the warning says what to set', () => {
    expect(warning('all', 17)).toBeUndefined();
    expect(warning('all', 16)).toMatch(/is 16, too few for the 102 .* at least 17, or serve fewer queues/);
    expect(warning('source-hie source-lab', 7)).toBeUndefined();
    expect(warning('source-hie source-lab', 6)).toMatch(/at least 7/);
  });

  test('are not counted for the orchestrator, which uses no database', () => {
    expect(warning('orchestrator', 2)).toBeUndefined();
  });
});
