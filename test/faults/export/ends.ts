import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { BulkExports } from '../../../src/starter/target/bulk-exports.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import { killPart } from '../kill/kill-part.ts';
import { settle } from '../kill/settle.ts';
import { until } from '../kill/until.ts';
import { exportsOf } from './exported.ts';
import { holdTable, reached, slicesOf } from './held.ts';

/**
 * Cancels an export whose worker is killed in the middle of a slice. It must be
 * gone for the caller, its workflow must end, and nothing that its rows named
 * may remain.
 */
export async function runExportCancelRound(
  stack: TestStack,
  { account, timeoutMs }: { account: StackAccount; timeoutMs: number },
): Promise<string[]> {
  const exports = exportsOf(stack, account);
  const exportId = await exports.start({});
  await reached(
    async () => (await slicesOf(stack, exportId)) > 0,
    timeoutMs,
    'the first slice',
  );
  const { hold, release } = await holdTable(stack, 'bulk_export_part');
  let refs: string[] = [];
  try {
    await reached(() => hold.isWaitedFor(), timeoutMs, 'another slice');
    refs = await refsOf(stack, exportId);
    await killPart(stack, 'worker-background', async () => {
      await release();
      await exports.cancel(exportId);
    });
  } finally {
    await release();
  }
  return [
    ...(refs.length === 0 ? ['there was no file yet'] : []),
    ...(await settle(stack, account, timeoutMs)),
    ...(await checkGone(stack, exports, {
      exportId,
      refs,
      status: 404,
      timeoutMs,
    })),
  ];
}

/**
 * Lets the files of a completed export expire. They must be gone, and the
 * caller must learn that they were there.
 */
export async function runExportExpiryRound(
  stack: TestStack,
  {
    account,
    exportId,
    timeoutMs,
  }: { account: StackAccount; exportId: string; timeoutMs: number },
): Promise<string[]> {
  const refs = await refsOf(stack, exportId);
  await stack.rows(
    "update bulk_export set ended_at = ended_at - interval '73 hours' where id = $1",
    [exportId],
  );
  return [
    ...(refs.length === 0 ? ['there were no files'] : []),
    ...(await checkGone(stack, exportsOf(stack, account), {
      exportId,
      refs,
      status: 410,
      timeoutMs,
    })),
  ];
}

async function checkGone(
  stack: TestStack,
  exports: BulkExports,
  of: {
    exportId: string;
    refs: readonly string[];
    status: number;
    timeoutMs: number;
  },
): Promise<string[]> {
  const { exportId, timeoutMs } = of;
  const isCleared = async () =>
    (
      await stack.rows(
        'select from bulk_export where id = $1 and files_deleted_at is not null',
        [exportId],
      )
    ).length === 1;
  const faults: string[] = [];
  if (!(await until(isCleared, { timeoutMs, everyMs: 250 })))
    faults.push('the files were not deleted');
  const status = await exports.read(exportId).then(
    () => 200,
    (error: { httpStatus?: number }) => error.httpStatus,
  );
  if (status !== of.status) faults.push(`status ${status}`);
  const [left] = await stack.rows<{ parts: number; patients: number }>(
    `select (select count(*)::int from bulk_export_part where export_id = $1) as parts,
       (select count(*)::int from bulk_export_patient where export_id = $1) as patients`,
    [exportId],
  );
  if (left?.parts !== 0 || left.patients !== 0)
    faults.push(`left: ${JSON.stringify(left)}`);
  for (const ref of of.refs)
    if (await isStored(stack, ref)) faults.push(`${ref} is still stored`);
  return faults;
}

function isStored({ dataDir }: TestStack, ref: string): Promise<boolean> {
  const [kind = '', name = ''] = ref.split('/');
  return access(join(dataDir, 'blobs', kind, name.slice(0, 2), name)).then(
    () => true,
    () => false,
  );
}

async function refsOf(stack: TestStack, exportId: string): Promise<string[]> {
  const parts = await stack.rows<{ ref: string }>(
    "select content->>'ref' as ref from bulk_export_part where export_id = $1",
    [exportId],
  );
  const refs = parts.map(({ ref }) => ref);
  const stored = await Promise.all(refs.map((ref) => isStored(stack, ref)));
  return refs.filter((_, index) => stored[index]);
}
