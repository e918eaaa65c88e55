import { countOf } from '../../../lib/counted.ts';
import { copyHeads } from '../../platform/audit/copy-heads.ts';
import { openAuditHeads } from '../../platform/audit/open-heads.ts';
import { AdminError, type AdminResult, type AdminTarget, existingStore } from './command.ts';

/** `audit copy-heads`: moves the external heads to another AUDIT_HEADS, while no worker writes them. */
export async function copyHeadsCommand(
  { openAudit }: Pick<AdminTarget, 'openAudit'>,
  { from, to }: { from: string; to: string },
): Promise<AdminResult> {
  const { chain } = await openAudit();
  const source = await openAuditHeads(await existingStore(from));
  const report = await copyHeads({ from: source, to: await openAuditHeads(to), chain });
  const { copied, present, newerThere, notOurs } = report;
  if (copied.length + present.length + newerThere.length + notOurs.length === 0)
    throw new AdminError(`There are no heads at ${from}; check the address (--from)`);
  return {
    document: { from, to, ...report },
    lines: [
      `${countOf(copied.length, 'head')} copied; ${present.length} were there already.`,
      ...newerThere.map(
        (id) => `FAULT: ${id}  the head at --to is newer, so workers write there, or --from is an old copy`,
      ),
      ...notOurs.map(
        (id) => `FAULT: ${id}  a head was not signed with AUDIT_KEY; investigate before you go on`,
      ),
    ],
    failed: newerThere.length + notOurs.length > 0,
  };
}
