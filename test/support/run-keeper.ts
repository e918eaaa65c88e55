import { rm } from 'node:fs/promises';
import { clearFolder } from './processes-of.ts';

// Clears up after a test run, whatever ended it, also kill -9: the end of the
// run closes this process's standard input. Arguments: the folder of the run,
// whose processes are ended, and further folders.

const [, , folder = '', ...further] = process.argv;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => undefined);
process.stdin.resume().once('close', async () => {
  await clearFolder(folder);
  for (const path of further) await rm(path, { recursive: true, force: true });
});
