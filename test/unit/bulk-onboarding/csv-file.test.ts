import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CsvFile } from '../../../src/orchestrator/bulk-onboarding/take-result.ts';
import { memoryFiles } from './memory-files.ts';

test('a file store that cannot write fails the file, not the process', async () => {
  const full = {
    ...memoryFiles(),
    put: () => Promise.reject(new Error('no space left')),
  };
  const file = new CsvFile(full, ['externalId']);
  for (let row = 0; row < 500; row += 1) await file.add([String(row)]);
  await file.abandon(new Error('The result could not be read'));
  // An error event that nothing listens to would come now, and Vitest would
  // count it as a failure.
  await nextTurn();
  await expect(file.close()).rejects.toThrow('no space left');
});
