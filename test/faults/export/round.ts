import type { BulkExports } from '../../../src/starter/target/bulk-exports.ts';
import { copyPatients } from '../../support/copy-patients.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import { killPart } from '../kill/kill-part.ts';
import { settle } from '../kill/settle.ts';
import { download, type Exported, exportsOf, manifestOf } from './exported.ts';
import { holdTable, reached, slicesOf } from './held.ts';

export interface ExportRoundOptions {
  /** The account whose patients are copied into one of their own. */
  from: StackAccount;
  /**
   * Copies of each patient: the export needs more slices than there are kills.
   */
  copies: number;
  timeoutMs: number;
}

export interface ExportRoundReport {
  account: StackAccount;
  /** The export that was disturbed; its files are still there. */
  exportId: string;
  faults: string[];
  /** Slices that were committed at each kill. */
  killedAt: { merging: number; writing: number };
  /** Slices of the whole export. */
  slices: number;
}

/**
 * Exports the same records twice: while the worker is killed as it merges a
 * record, and between the files of a slice and their rows; then undisturbed.
 * All files must be the same, byte for byte, and contain each resource once.
 */
export async function runExportRound(
  stack: TestStack,
  { from, copies, timeoutMs }: ExportRoundOptions,
): Promise<ExportRoundReport> {
  const account = await stack.addAccount();
  await copyPatients(stack.rows, {
    from: from.accountId,
    to: account.accountId,
    times: copies,
  });
  const exports = exportsOf(stack, account);

  const { exportId, killedAt } = await startAndKill(stack, exports, timeoutMs);
  const killed = await filesOf(exports, exportId, timeoutMs);
  const undisturbedId = await exports.start({});
  const undisturbed = await filesOf(exports, undisturbedId, timeoutMs);

  const faults = [
    ...(await settle(stack, account, timeoutMs)),
    ...differences('files', undisturbed.files, killed.files),
    ...differences(
      'audited',
      await auditOf(stack, account, undisturbedId),
      await auditOf(stack, account, exportId),
    ),
    ...(await checkResources(stack, account, killed)),
  ];
  return {
    account,
    exportId,
    faults,
    killedAt,
    slices: await slicesOf(stack, exportId),
  };
}

const filesOf = async (
  exports: BulkExports,
  exportId: string,
  timeoutMs: number,
): Promise<Exported> =>
  download(exports, exportId, await manifestOf(exports, exportId, timeoutMs));

/** Each kill falls into a transaction that is held still for it. */
async function startAndKill(
  stack: TestStack,
  exports: BulkExports,
  timeoutMs: number,
) {
  const exportId = await exports.start({});
  const killAt = async (table: string) => {
    const { hold, release } = await holdTable(stack, table);
    try {
      await reached(() => hold.isWaitedFor(), timeoutMs, table);
      const slices = await slicesOf(stack, exportId);
      await killPart(stack, 'worker-background', release);
      return slices;
    } finally {
      await release();
    }
  };
  await reached(
    async () => (await slicesOf(stack, exportId)) > 0,
    timeoutMs,
    'the first slice',
  );
  const merging = await killAt('record_resource');
  const writing = await killAt('bulk_export_part');
  return { exportId, killedAt: { merging, writing } };
}

/** Everything that the records contain, once. */
async function checkResources(
  { rows }: TestStack,
  { accountId }: StackAccount,
  { resources }: Exported,
): Promise<string[]> {
  const known = await rows<{ name: string }>(
    `select resource_type || '/' || resource_id as name from record_resource
     where account_id = $1 and gone_at is null
     union select 'Patient/' || id from patient where account_id = $1`,
    [accountId],
  );
  const ours = resources.filter((name) => !name.startsWith('Provenance/'));
  const twice = resources.length - new Set(resources).size;
  return [
    ...(twice === 0 ? [] : [`${twice} resources are there twice`]),
    ...differences(
      'resources',
      known.map(({ name }) => name).sort(),
      [...new Set(ours)].sort(),
    ),
  ];
}

/** How often the data of each patient was audited as given out. */
const auditOf = async (
  { rows }: TestStack,
  { accountId }: StackAccount,
  exportId: string,
): Promise<string[]> =>
  (
    await rows<{ line: string }>(
      `select format('%s: %s', patient_id, count(*)) as line from audit_entry
       where account_id = $1 and target_id = $2 and patient_id is not null group by patient_id order by 1`,
      [accountId, exportId],
    )
  ).map(({ line }) => line);

function differences(
  what: string,
  expected: readonly string[],
  actual: readonly string[],
): string[] {
  const wanted = new Set(expected);
  const given = new Set(actual);
  const missing = expected.filter((each) => !given.has(each));
  const added = actual.filter((each) => !wanted.has(each));
  if (
    missing.length === 0 &&
    added.length === 0 &&
    expected.length === actual.length
  )
    return [];
  const some = (of: readonly string[]) =>
    `${of.length} (${of.slice(0, 3).join('; ')})`;
  return [`${what}: missing ${some(missing)}, unexpected ${some(added)}`];
}
