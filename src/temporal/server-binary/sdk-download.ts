import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../lib/run-command.ts';
import { TEMPORAL_CLI, type Tool } from './tools.ts';

const TIMEOUT_MS = 20_000;

/**
 * Lets the SDK download the executable, as for its test environments, and returns its path inside `folder`. The SDK cannot
 * cancel a download, so it runs in a separate process that can be killed. Throws when it takes longer than 20 s.
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
