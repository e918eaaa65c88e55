import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../lib/run-command.ts';
import { TEMPORAL_CLI, type Tool } from './tools.ts';

const TIMEOUT_MS = 20_000;

/**
 * Lets the SDK download the executable as it does for its own test environments, and gives its path inside
 * `folder`. The SDK offers no way to stop a download, so it happens in a process of its own that can be killed.
 * Throws when that takes longer than 20 s.
 */
export async function downloadThroughSdk(tool: Tool, folder: string): Promise<string> {
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
