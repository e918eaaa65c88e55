import { execFile } from 'node:child_process';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../test/faults/kill/until.ts';
import type { Attack } from './attack.ts';

const MISSING = 3;
/** Entries are sealed in the background. */
const SEALED_WITHIN_MS = 180_000;

function verify(dataDir: string): Promise<{ code: number; out: string }> {
  const argv = ['src/admin.ts', 'audit', 'verify', '--data-dir', dataDir];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, argv, (_error, out, err) =>
      resolve({ code: child.exitCode ?? 1, out: out + err }),
    );
  });
}

/**
 * A removed head was made anew by the next sealing, and the audit was "whole".
 */
export const removedHead: Attack = {
  name: 'The head of an audit is removed',
  async run({ stack: { dataDir }, account }) {
    const folder = join(dataDir, 'audit-heads');
    const headOf = async () =>
      (await readdir(folder, { recursive: true })).find((name) =>
        name.includes(account.accountId),
      );
    await until(async () => (await headOf()) !== undefined, {
      timeoutMs: SEALED_WITHIN_MS,
      everyMs: 1_000,
    });
    const head = await headOf();
    if (head === undefined)
      return { seen: 'no head was written', holds: false };
    const before = await verify(dataDir);
    await rename(join(folder, head), join(dataDir, 'removed-head'));
    const after = await verify(dataDir);
    const isRecreated = (await headOf()) !== undefined;
    return {
      seen: `audit verify: ${before.code} before, ${after.code} after; ${isRecreated ? 'recreated' : 'not recreated'}`,
      holds:
        before.code === 0 &&
        after.code === MISSING &&
        /missing/.test(after.out) &&
        !isRecreated,
    };
  },
};
