import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StackAccess } from '../../../test/support/stack.ts';
import { createCarefulCaller } from '../mixed/careful-caller.ts';
import { checkImport } from '../mixed/check-wave.ts';
import { runImport } from '../mixed/import.ts';
import { newAccount } from '../mixed/wave.ts';

/**
 * Imports a large panel into an account of its own. Returns what came of it
 * otherwise than it should.
 */
export async function importLargePanel(
  stack: StackAccess,
  { rows, timeoutMs }: { rows: number; timeoutMs: number },
): Promise<string[]> {
  const deadlineAt = Date.now() + timeoutMs;
  const folder = await mkdtemp(join(tmpdir(), 'exchange-panel-'));
  try {
    const caller = createCarefulCaller(
      stack,
      await newAccount(stack, deadlineAt),
      deadlineAt,
    );
    const post = async (path: string, body?: unknown) =>
      (await caller.post(path, body)).answer.body;
    const imported = await runImport(caller, post, {
      folder,
      deadlineAt,
      rows,
    });
    return await checkImport({ caller, imported });
  } catch (error) {
    return [
      `import of ${rows} rows: ${error instanceof Error ? error.message : error}`,
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
