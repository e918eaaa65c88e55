import { expect, test } from 'vitest';
import { changedParts } from '../../../src/embedded/restart-on-change.ts';

test.each([
  [['simulator/server.ts'], ['simulator']],
  [['workflows/orchestrator/patient-onboarding/workflow.ts'], ['worker', 'worker-background']],
  [
    ['exchange/gateway/app.ts', 'receiver.ts'],
    ['gateway', 'receiver', 'worker', 'worker-background'],
  ],
  [['contract/patient.ts'], ['simulator', 'gateway', 'receiver', 'worker', 'worker-background']],
  [['starter/program.ts', 'embedded/main.ts'], []],
])('a change of %j restarts %j', (files, parts) => {
  expect(changedParts(files)).toEqual(parts);
});

test('a folder that is not known is taken to be used by all', () => {
  expect(changedParts(['new-folder/a.ts'])).toHaveLength(5);
});
