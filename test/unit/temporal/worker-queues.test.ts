import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/config.ts';
import {
  BACKGROUND_QUEUES,
  INTERACTIVE_QUEUES,
  isBackgroundOnly,
  parseWorkerQueues,
  WORKER_QUEUES,
} from '../../../src/temporal/task-queues.ts';

test('all means every queue of both halves', () => {
  expect(parseWorkerQueues('all')).toEqual(WORKER_QUEUES);
  expect(WORKER_QUEUES).toEqual([
    'exchange',
    'webhooks',
    'partners',
    'builds',
    'source-hie',
    'source-pharmacy',
    'source-lab',
    'orchestrator',
    'networks',
    'background-exchange',
    'background-builds',
    'background-source-hie',
    'background-source-pharmacy',
    'background-source-lab',
    'background-networks',
  ]);
});

test('a deployment may split the queues over processes', () => {
  expect(parseWorkerQueues('source-lab  exchange, webhooks')).toEqual([
    'exchange',
    'webhooks',
    'source-lab',
  ]);
  expect(parseWorkerQueues('builds')).toEqual(['builds']);
});

test.each(['', 'exchange lab', 'ALL'])(
  '%j is refused with the names that exist',
  (text) => {
    expect(() => parseWorkerQueues(text)).toThrow(ConfigError);
    expect(() => parseWorkerQueues(text)).toThrow(
      /WORKER_QUEUES: .*source-pharmacy/,
    );
  },
);

test('a worker that yields has no queue that callers wait for by the second, and the others have none of that lane', () => {
  expect(isBackgroundOnly(parseWorkerQueues(BACKGROUND_QUEUES.join(' ')))).toBe(
    true,
  );
  expect(
    isBackgroundOnly(parseWorkerQueues('background-builds exchange')),
  ).toBe(false);
  expect(parseWorkerQueues(INTERACTIVE_QUEUES.join(' '))).toEqual(
    INTERACTIVE_QUEUES,
  );
});
