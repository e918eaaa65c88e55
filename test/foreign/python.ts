import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);

/** Whether python3 (3.11 or newer) with venv is here. */
export const hasPython = (() => {
  const check = 'import sys, venv; sys.exit(sys.version_info < (3, 11))';
  try {
    execFileSync('python3', ['-c', check], { stdio: 'ignore' });
    return true;
  } catch {
    process.stdout.write(
      'Python clients are not tried: python3 (3.11 or newer) with venv is not here.\n',
    );
    return false;
  }
})();

/**
 * Installs a package of PyPI into a folder of the test. Returns the folder of
 * its programs.
 */
export async function installPython(
  folder: string,
  pinned: string,
): Promise<string> {
  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', pinned]);
  return join(folder, 'venv/bin');
}
