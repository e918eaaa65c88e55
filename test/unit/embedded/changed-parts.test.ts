import { expect, test } from 'vitest';
import { changedParts } from '../../../tools/embedded/restart-on-change.ts';

test.each([
  [['tools/simulator/server.ts'], ['simulator']],
  [['src/workflows/orchestrator/patient-onboarding/workflow.ts'], ['worker', 'worker-background']],
  [
    ['src/exchange/gateway/app.ts', 'src/receiver.ts'],
    ['gateway', 'receiver', 'worker', 'worker-background'],
  ],
  [['src/contract/patient.ts'], ['simulator', 'gateway', 'receiver', 'worker', 'worker-background']],
  [['src/starter/program.ts', 'tools/embedded/main.ts'], []],
])('a change of %j restarts %j', (files, parts) => {
  expect(changedParts(files)).toEqual(parts);
});

test('a folder that is not known is taken to be used by all', () => {
  expect(changedParts(['src/new-folder/a.ts'])).toHaveLength(5);
});
