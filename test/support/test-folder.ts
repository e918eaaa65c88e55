import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is removed after the run at the latest (see run-folder.ts). */
export const makeTestFolder = (): Promise<string> =>
  mkdtemp(join(tmpdir(), 'exchange-'));
