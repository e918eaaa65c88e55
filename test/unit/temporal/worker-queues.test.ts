import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/config.ts';
import { parseWorkerQueues, WORKER_QUEUES } from '../../../src/temporal/worker-queues.ts';

test('all means every queue of both halves', () => {
  expect(parseWorkerQueues('all')).toEqual(WORKER_QUEUES);
  expect(WORKER_QUEUES).toEqual(['exchange', 'source-hie', 'source-pharmacy', 'source-lab', 'orchestrator']);
});

test('a deployment may split the queues over processes', () => {
  expect(parseWorkerQueues('source-lab  exchange')).toEqual(['exchange', 'source-lab']);
});

test.each(['', 'exchange lab', 'ALL'])('%j is refused with the names that exist', (text) => {
  expect(() => parseWorkerQueues(text)).toThrow(ConfigError);
  expect(() => parseWorkerQueues(text)).toThrow(/WORKER_QUEUES: .*source-pharmacy/);
});
