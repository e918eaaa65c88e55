import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { countAside } from '../records/record-store.ts';
import type { AsideReason } from '../records/rules/facts.ts';
import type { SourcePage } from '../sources/connector.ts';
import { addToTimeline } from './timeline-store.ts';

/** What the source could not bring in full is told, not passed over. */
export async function recordOmissions(tx: AccountTx, step: SourceStepInput, page: SourcePage): Promise<void> {
  const { source, attempt } = step;
  const omissions = [
    page.misattributedCount > 0
      ? `${page.misattributedCount} resources of other patients put aside`
      : undefined,
    page.skippedAttachments > 0 ? `${page.skippedAttachments} documents could not be fetched` : undefined,
    page.unreachable === undefined
      ? undefined
      : `${page.unreachable.count} organizations, practitioners or locations could not be fetched (${page.unreachable.reason})`,
    page.reportedErrors > 0 ? `the source reports ${page.reportedErrors} errors of its own` : undefined,
  ].filter((omission) => omission !== undefined);
  if (omissions.length === 0) return;
  // What is about other patients is missing in no record.
  const isGap = page.skippedAttachments > 0 || page.unreachable !== undefined || page.reportedErrors > 0;
  const message = omissions.join('; ');
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, isGap });
}

/** What is kept and yet no part of the record is told as well. */
export async function recordExclusions(
  tx: AccountTx,
  step: SourceStepInput,
  patientId: string,
): Promise<void> {
  const counts = await countAside(tx, patientId, step.source);
  if (counts.length === 0) return;
  const { source, attempt } = step;
  const reasons = counts.map(({ reason, count }) => `${count} ${ASIDE_REASONS[reason]}`);
  const message = `Kept, but no part of the record: ${reasons.join(', ')}`;
  const onceKey = `put-aside/${source}/${attempt}`;
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, onceKey });
}

const ASIDE_REASONS: Record<AsideReason, string> = {
  type: 'of types that no record holds',
  incomplete: 'that say too little',
  'names-nobody': 'about nobody',
  'names-another': 'about another person',
  unreadable: 'nested too deep to be read',
};
