import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { watchNpm } from '../../tools/embedded/stop-signals.ts';
import { clearFolder } from './processes-of.ts';

const PREFIX = 'exchange-test-';
const OWNER = 'owner.pid';

/** Gives a test run a folder of its own (`takeRunFolder`). */
export default ({ tmpDir }: TestProject): Promise<void> =>
  takeRunFolder([tmpDir]);

/**
 * Gives a run a temporary folder of its own: everything that it and its servers
 * create lies in it, and every process that it starts can be told by it. A
 * keeper process clears both away when the run is over, whatever ends it.
 *
 * @param further folders that go with the run, too
 */
export async function takeRunFolder(further: string[] = []): Promise<void> {
  const isNested = tmpdir().includes(PREFIX);
  if (isNested) return;
  await clearAbandoned();
  const folder = join(tmpdir(), `${PREFIX}${randomBytes(4).toString('hex')}`);
  startKeeper([folder, ...further]);
  // Others may pass through: PostgreSQL may have to run as another user.
  await mkdir(folder, { mode: 0o711 });
  await writeFile(join(folder, OWNER), String(process.pid));
  process.env.TMPDIR = folder;
  // npm passes SIGTERM on only to the shell of its script.
  await watchNpm(() => process.kill(process.pid, 'SIGTERM'));
}

/**
 * Its standard input ends with this process. It has a process group of its own,
 * so Ctrl-C does not reach it.
 */
function startKeeper(folders: string[]): void {
  const script = fileURLToPath(new URL('./run-keeper.ts', import.meta.url));
  const keeper = spawn(process.execPath, [script, ...folders], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keeper.unref();
  (keeper.stdin as unknown as { unref(): void }).unref();
}

/** Clears up after runs whose keeper was killed too. */
async function clearAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = Number(
      await readFile(join(folder, OWNER), 'utf8').catch(() => ''),
    );
    // Without an owner it is being made this moment, or another program's.
    if (owner > 0 && (await commandLineOf(owner)) === undefined)
      await clearFolder(folder);
  }
}
