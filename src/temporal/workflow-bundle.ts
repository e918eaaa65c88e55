import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { CONVERTER_PATHS } from './data-converter.ts';
import { WORKFLOW_INTERCEPTORS } from './workers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const WORKFLOWS_PATH = join(root, 'src/workflows/index.ts');
const CACHE_DIR = join(root, '.cache/workflow-bundles');
const KEPT_MS = 2 * 24 * 60 * 60 * 1000;

/**
 * Bundles the workflow code into one script for the sandbox. Bundling takes
 * about 1.5 s, so the result is cached under a hash of all sources; later
 * starts of any process or test with the same sources read it from a file. If
 * the cache cannot be written (a read-only image), bundles each time. Throws an
 * Error that describes why the code cannot be bundled: it does not parse, or
 * imports something that cannot run in the sandbox.
 */
export async function loadWorkflowBundle(
  workflowsPath = WORKFLOWS_PATH,
): Promise<{ code: string }> {
  const cached = join(CACHE_DIR, `${hashOfSources(workflowsPath)}.js`);
  const known = await readFile(cached, 'utf8').catch(() => undefined);
  if (known !== undefined) return { code: known };
  const code = await bundle(workflowsPath);
  await keep(cached, code).catch(() => undefined);
  return { code };
}

async function bundle(workflowsPath: string): Promise<string> {
  const problems: string[] = [];
  try {
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      ...CONVERTER_PATHS,
      workflowInterceptorModules: WORKFLOW_INTERCEPTORS,
      logger: new DefaultLogger('ERROR', ({ message }) =>
        problems.push(message),
      ),
    });
    return code;
  } catch (error) {
    const reasons = [
      ...problems,
      error instanceof Error ? error.message : '',
    ].join('\n');
    throw new Error(`The workflow code cannot be bundled:\n${reasons}`, {
      cause: error,
    });
  }
}

/**
 * Writes a temporary file and renames it, so that other processes never read an
 * incomplete bundle. Deletes old bundles.
 */
async function keep(path: string, code: string): Promise<void> {
  await mkdir(CACHE_DIR, { recursive: true });
  const aside = `${path}.${process.pid}.tmp`;
  await writeFile(aside, code);
  await rename(aside, path);
  for (const name of await readdir(CACHE_DIR)) {
    const { mtimeMs } = await stat(join(CACHE_DIR, name));
    if (Date.now() - mtimeMs > KEPT_MS)
      await rm(join(CACHE_DIR, name), { force: true });
  }
}

/**
 * Names a build without BUILD_ID: the same sources have the same name on every
 * machine.
 */
export const hashOfBuild = async (): Promise<string> =>
  hashOfSources(WORKFLOWS_PATH).slice(0, 12);

/**
 * Reads synchronously: a thousand small files take a fifth of the time that
 * they take one promise after the other.
 */
function hashOfSources(workflowsPath: string): string {
  const hash = createHash('sha256').update(relative(root, workflowsPath));
  const sources = sourceFolders().flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|cjs|json)$/.test(name))
      .map((name) => join(folder, name)),
  );
  for (const name of [
    ...sources.sort(),
    'package-lock.json',
    relative(root, workflowsPath),
  ])
    hash.update(`\0${name}\0`).update(readFileSync(join(root, name)));
  return hash.digest('hex').slice(0, 32);
}

/** The folders whose files make a build, below the root. */
function sourceFolders(): string[] {
  const packages = readdirSync(join(root, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join('packages', name, 'src'))
    .filter((folder) => existsSync(join(root, folder)));
  return ['src', ...packages];
}
