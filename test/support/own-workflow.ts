import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The name of the packed library. */
export const LIBRARY = '@medical-data-exchange/library';

/** A copy of examples/own-workflow with the packed library in it. */
export interface OwnWorkflow {
  readonly folder: string;
  /** Names of the library's entry points, as one imports them. */
  readonly entries: string[];
  /**
   * What the TypeScript compiler says of the example and of the declarations of
   * all libraries.
   */
  typeErrors(): Promise<string>;
  /**
   * Runs a file of src to its end and answers what it printed. Throws when it
   * fails.
   */
  runFile(
    file: string,
    args: string[],
    env: NodeJS.ProcessEnv,
  ): Promise<string>;
  /**
   * Starts a file of src and waits until its output contains `sign`. Throws
   * when it ends before.
   */
  startFile(
    file: string,
    sign: string,
    env: NodeJS.ProcessEnv,
  ): Promise<ChildProcess>;
  remove(): Promise<void>;
}

/**
 * Packs the library as for publishing and unpacks it where `npm install` would
 * put it. The copy lies within the repository, so that its other dependencies
 * are found in our node_modules: no registry is asked.
 */
export async function installOwnWorkflow(): Promise<OwnWorkflow> {
  await mkdir(join(ROOT, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(ROOT, '.cache', 'own-workflow-'));
  await cp(join(ROOT, 'examples/own-workflow'), folder, { recursive: true });
  await run(
    'npm',
    [
      'pack',
      '--silent',
      '--workspace=packages/library',
      `--pack-destination=${folder}`,
    ],
    { cwd: ROOT },
  );
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  const library = join(folder, 'node_modules', LIBRARY);
  await mkdir(library, { recursive: true });
  await run('tar', [
    '-xzf',
    join(folder, tarball),
    '-C',
    library,
    '--strip-components=1',
  ]);

  const { exports } = JSON.parse(
    await readFile(join(library, 'package.json'), 'utf8'),
  );
  const entries = Object.keys(exports).map((path) =>
    path.replace(/^\./, LIBRARY),
  );
  // Every entry is looked at by the compiler, whether the example needs it or
  // not.
  await writeFile(
    join(folder, 'src/every-entry.ts'),
    entries
      .map((entry, index) => `export * as entry${index} from '${entry}';\n`)
      .join(''),
  );
  const node = (file: string, args: string[]) => [join('src', file), ...args];
  const options = (env: NodeJS.ProcessEnv) => ({
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  return {
    folder,
    entries,
    typeErrors: () =>
      run(join(ROOT, 'node_modules/.bin/tsc'), ['--skipLibCheck', 'false'], {
        cwd: folder,
      })
        .then(({ stdout }) => stdout)
        .catch((error: { stdout: string }) => error.stdout),
    runFile: async (file, args, env) =>
      (await run(process.execPath, node(file, args), options(env))).stdout,
    async startFile(file, sign, env) {
      const child = spawn(process.execPath, node(file, []), {
        ...options(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      const ready = new Promise<void>((resolve) => {
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (data) => {
            output += data;
            if (output.includes(sign)) resolve();
          });
      });
      const ended = once(child, 'exit').then(() => {
        throw new Error(`${file} ended: ${output}`);
      });
      await Promise.race([ready, ended]);
      ended.catch(() => undefined);
      return child;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
