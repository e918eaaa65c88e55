import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/config.ts';
import { parseWorkerQueues, WORKER_QUEUES } from '../../../src/temporal/worker-queues.ts';

test('all means every queue of both halves', () => {
  expect(parseWorkerQueues('all')).toEqual(WORKER_QUEUES);
  expect(WORKER_QUEUES).toEqual([
    'exchange',
    'webhooks',
    'builds',
    'source-hie',
    'source-pharmacy',
    'source-lab',
    'orchestrator',
  ]);
});

test('a deployment may split the queues over processes', () => {
  expect(parseWorkerQueues('source-lab  exchange webhooks')).toEqual(['exchange', 'webhooks', 'source-lab']);
  expect(parseWorkerQueues('builds')).toEqual(['builds']);
});

test('a list from before the queues webhooks and builds existed still serves them', () => {
  expect(parseWorkerQueues('exchange source-lab')).toEqual(['exchange', 'webhooks', 'builds', 'source-lab']);
  expect(parseWorkerQueues('source-lab orchestrator')).toEqual(['source-lab', 'orchestrator']);
});

test.each(['', 'exchange lab', 'ALL'])('%j is refused with the names that exist', (text) => {
  expect(() => parseWorkerQueues(text)).toThrow(ConfigError);
  expect(() => parseWorkerQueues(text)).toThrow(/WORKER_QUEUES: .*source-pharmacy/);
});
