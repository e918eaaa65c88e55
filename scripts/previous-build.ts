import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Runs an earlier build on today's schema, as it happens during a deploy:
 *
 *   npm run test:previous-build -- <commit> [<test file or folder of that commit> …]
 *
 * Takes the commit's code and its own tests (default: those of the gateway), with the migrations of this working tree, and
 * exits with their code. It shares this folder's node_modules, unless its dependencies are others.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MIGRATIONS = 'src/exchange/platform/database/migrations';
const [commit, ...tests] = process.argv.slice(2);

if (commit === undefined)
  refuse('Name the commit of the earlier build: npm run test:previous-build -- <commit>');
else if (!isThere(commit))
  refuse(`There is no commit ${commit} here; fetch the history first (git fetch --unshallow).`);
else process.exitCode = runOnTodaysSchema(commit, tests.length > 0 ? tests : ['test/gateway']);

function runOnTodaysSchema(commit: string, tests: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), 'previous-build-'));
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    rmSync(join(folder, MIGRATIONS), { recursive: true });
    cpSync(join(ROOT, MIGRATIONS), join(folder, MIGRATIONS), { recursive: true });
    if (hasSameLock(folder)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    else execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder });
    const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
    const run = spawnSync(process.execPath, [vitest, 'run', '--project', 'servers', ...tests], {
      cwd: folder,
      stdio: 'inherit',
    });
    return run.status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hasSameLock(folder: string): boolean {
  const [ours, theirs] = [ROOT, folder].map((root) => readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return ours === theirs;
}

function isThere(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0;
}

function refuse(why: string): void {
  console.error(why);
  process.exitCode = 2;
}
