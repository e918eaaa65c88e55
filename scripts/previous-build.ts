import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Runs an earlier build on today's schema, as it happens during a deploy:
 *
 * npm run test:previous-build [-- <commit> [<test file or folder of that
 * commit> …]]
 *
 * Takes the commit's code (default: 0.1.0) and its own tests (default: those of
 * the gateway), with the migrations of this working tree, and exits with their
 * code. It shares this folder's node_modules, unless its dependencies are
 * others.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MIGRATIONS = 'src/exchange/platform/database/migrations';
const BASELINE = `${MIGRATIONS}/0001-baseline.sql`;
const [commit = firstRelease(), ...tests] = process.argv.slice(2);

if (commit === '' || !isThere(commit))
  refuse(
    `There is no commit ${commit || 'of 0.1.0'} here; fetch the history first (git fetch --unshallow).`,
  );
else if (!isThere(commit, BASELINE))
  refuse(
    `${commit} is from before 0.1.0, the first release; its schema was another one, and nothing of it is kept.`,
  );
else
  process.exitCode = runOnTodaysSchema(
    commit,
    tests.length > 0 ? tests : ['test/gateway'],
  );

function runOnTodaysSchema(commit: string, tests: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'previous-build-'));
  try {
    const archive = execFileSync('git', ['archive', commit], {
      cwd: ROOT,
      maxBuffer: 2 ** 30,
    });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    rmSync(join(folder, MIGRATIONS), { recursive: true });
    cpSync(join(ROOT, MIGRATIONS), join(folder, MIGRATIONS), {
      recursive: true,
    });
    if (hasSameLock(folder))
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    else
      execFileSync(
        'npm',
        ['ci', '--prefer-offline', '--no-audit', '--no-fund'],
        { cwd: folder },
      );
    const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
    const run = spawnSync(
      process.execPath,
      [vitest, 'run', '--project', 'servers', ...tests],
      {
        cwd: folder,
        stdio: 'inherit',
      },
    );
    return run.status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hasSameLock(folder: string): boolean {
  const [ours, theirs] = [ROOT, folder].map((root) =>
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  return ours === theirs;
}

function isThere(commit: string, file?: string): boolean {
  const name = file === undefined ? `${commit}^{commit}` : `${commit}:${file}`;
  return (
    spawnSync('git', ['cat-file', '-e', name], { cwd: ROOT, stdio: 'ignore' })
      .status === 0
  );
}

/**
 * The commit that added the baseline of 0.1.0, or an empty text if the history
 * does not reach back so far.
 */
function firstRelease(): string {
  const found = ['log', '--diff-filter=A', '--format=%H', '--', BASELINE];
  return (
    execFileSync('git', found, { cwd: ROOT, encoding: 'utf8' })
      .trim()
      .split('\n')
      .at(-1) ?? ''
  );
}

function refuse(why: string): void {
  console.error(why);
  process.exitCode = 2;
}
