import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import { countOf } from '../../../lib/counted.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { countExcluded } from '../../records/reading/record-store.ts';
import type { ExclusionReason } from '../../records/rules/delivery-facts.ts';
import type { SourcePage } from '../../sources/connectors/connector.ts';
import { type PartStep, partKey } from './attempt-store.ts';
import { ofConnection } from './part-store.ts';
import { addToTimeline } from './timeline-store.ts';

/** Records in the timeline what a page lacks: misattributed resources, failed fetches, errors the source reports. */
export async function recordOmissions(tx: AccountTx, step: PartStep, page: SourcePage): Promise<void> {
  const { source, attempt } = step;
  const omissions = [
    page.misattributedCount > 0
      ? `${countOf(page.misattributedCount, 'resource')} of other patients discarded`
      : undefined,
    page.skippedAttachments > 0
      ? `${countOf(page.skippedAttachments, 'document')} could not be fetched${reasonsOf(page)}`
      : undefined,
    page.unreachable === undefined
      ? undefined
      : `${countOf(page.unreachable.count, 'organization, practitioner or location', 'organizations, practitioners or locations')} could not be fetched (${page.unreachable.reason})`,
    page.leftOut === undefined ? undefined : leftOutMessage(page.leftOut),
    page.reportedErrors > 0 ? `the source reports errors of its own: ${page.reportedErrors}` : undefined,
    ...(page.reported?.gaps ?? []),
  ].filter((omission) => omission !== undefined);
  for (const warning of page.reported?.warnings ?? []) await recordNotice(tx, step, warning, warning);
  if (omissions.length === 0) return;
  const isGap = leavesGap(page);
  const message = ofConnection(step, omissions.join('; '));
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, isGap });
}

const reasonsOf = ({ skippedReasons = [] }: SourcePage): string =>
  skippedReasons.length === 0 ? '' : ` (${skippedReasons.join('; ')})`;

/** Records in the timeline, once per attempt and connection, what went otherwise than usual when the source was asked. */
export async function recordNotice(
  tx: AccountTx,
  step: PartStep,
  notice: string,
  key = 'notice',
): Promise<void> {
  const { source, attempt } = step;
  const onceKey = `${key}/${partKey(step)}`;
  const message = ofConnection(step, notice);
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'notice', message, onceKey });
}

/** Whether a page lacks something of this patient's record; discarded resources of other patients are no gap. */
export const leavesGap = (page: SourcePage): boolean =>
  page.skippedAttachments > 0 || page.unreachable !== undefined || lacksResources(page);

/** Whether resources may be missing from a page, so that their absence says nothing about the source. */
export const lacksResources = (page: SourcePage): boolean =>
  page.leftOut !== undefined || page.reportedErrors > 0 || (page.reported?.gaps.length ?? 0) > 0;

const leftOutMessage = (names: readonly string[]): string =>
  `${countOf(names.length, 'resource')} larger than a page may be left out (${names.join(', ')})`;

/** Records in the timeline, once per attempt, how many of a source's resources are stored but excluded, by reason. */
export async function recordExclusions(
  tx: AccountTx,
  step: SourceStepInput,
  patientId: string,
): Promise<void> {
  const counts = await countExcluded(tx, patientId, step.source);
  if (counts.length === 0) return;
  const { source, attempt } = step;
  const reasons = counts.map(({ reason, count }) => `${count} ${ASIDE_REASONS[reason]}`);
  const message = `Stored, but excluded from the record: ${reasons.join(', ')}`;
  const onceKey = `put-aside/${source}/${attempt}`;
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, onceKey });
}

const ASIDE_REASONS: Record<ExclusionReason, string> = {
  type: 'of a type that records do not hold',
  incomplete: 'without the required content',
  'names-nobody': 'without a patient',
  'names-another': 'about another person',
  unreadable: 'nested too deeply to be read',
};
