import { ApplicationFailure } from '@temporalio/common';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createSdkLogger } from '../../../src/temporal/runtime.ts';

function capture() {
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'trace', base: null },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  return {
    log: createSdkLogger(logger),
    lines,
    text: () => JSON.stringify(lines),
  };
}

test('ids, counts and states pass, anything with a blank in it does not', () => {
  const { log, lines, text } = capture();
  log.info('a workflow was started', {
    workflowId: 'network-query/0190-a',
    attempt: 2,
    isLocal: false,
    remark: 'Lieselotte Howe',
    patient: { firstName: 'Lieselotte' },
    list: ['Lieselotte'],
  });
  expect(lines[0]).toMatchObject({
    workflowId: 'network-query/0190-a',
    attempt: 2,
    isLocal: false,
  });
  expect(text()).not.toContain('Lieselotte');
});

test('an error tells its class, type, code and place, and nothing of its message however many lines it has', () => {
  const { log, lines, text } = capture();
  const cause = Object.assign(new Error('duplicate key (Lieselotte)'), {
    code: '23505',
  });
  const error = ApplicationFailure.create({
    message: 'first line\n  at Lieselotte home\nHowe',
    type: 'Store',
    cause,
  });
  log.warn('Activity failed', { error });
  expect(lines[0]).toMatchObject({
    level: 40,
    failure: {
      name: 'ApplicationFailure',
      type: 'Store',
      stack: expect.stringContaining('sdk-logger.test.ts'),
      cause: { name: 'Error', code: '23505' },
    },
  });
  expect(text()).not.toMatch(/Lieselotte|Howe|first line/);
});

test('what the SDK appends to its own messages is cut off', () => {
  const { log, lines } = capture();
  log.error(
    'Error while processing ActivityTask.start: unexpected token L in Lieselotte',
    {},
  );
  expect(lines[0]).toMatchObject({
    level: 50,
    msg: 'Error while processing ActivityTask.start',
  });
});

test('housekeeping of the workers is for debugging only', () => {
  const { log, lines } = capture();
  log.info('Worker state changed', { state: 'RUNNING' });
  log.warn('No workflows registered, not polling for workflow tasks');
  expect(lines.map(({ level }) => level)).toEqual([20, 20]);
});
