import { createHash } from 'node:crypto';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx, Store } from '../platform/database/database.ts';
import { compareWithAnswer, countRetired, retire } from '../records/retirement-store.ts';
import { type Identity, isTakenBack, type RetireReason } from '../records/rules/retirement.ts';
import { readSourcePatientIds } from '../records/source-patient-store.ts';
import type { Fate, SourceConnector, SourcePage } from '../sources/connector.ts';
import { addToTimeline } from './timeline-store.ts';

export interface Retiring {
  store: Pick<Store, 'asAccount'>;
  connectors: Record<SourceType, Pick<SourceConnector, 'checkMissing'>>;
}

/** Each costs the source a read. The next full answer has the others checked. */
const CHECKED_MAX = 200;

/** A page says that some resources are deleted or another person's: those that we have leave the record at once. */
export async function retireRetracted(
  tx: AccountTx,
  step: SourceStepInput,
  patientId: string,
  { retracted }: SourcePage,
): Promise<void> {
  if (retracted.length === 0) return;
  const ids = (await readSourcePatientIds(tx, patientId)).get(step.source) ?? new Set();
  await retire(
    tx,
    step,
    patientId,
    retracted.filter((retraction) => isTakenBack(retraction, ids)),
  );
}

/**
 * Retires what a source delivered before and a whole answer of it no longer holds, after a read of each at the source: a
 * search may leave out what is still there. An answer that was not whole retires nothing. Safe to repeat.
 */
export async function retireMissing(
  deps: Retiring,
  step: SourceStepInput,
  patientId: string,
  signal: AbortSignal,
): Promise<void> {
  const found = await deps.store.asAccount(step.accountId, async (tx) => ({
    answer: await compareWithAnswer(tx, step, patientId),
    ids: (await readSourcePatientIds(tx, patientId)).get(step.source) ?? new Set<string>(),
  }));
  if (found.answer === undefined || found.answer.missing.length === 0) return;
  const { missing, present } = found.answer;
  const checked = inTurn(missing, step.requestId).slice(0, CHECKED_MAX);
  const question = { missing: checked, present, patientIds: [...found.ids] };
  const fates = await deps.connectors[step.source].checkMissing(question, signal);
  const retired = checked.flatMap((identity, index) => {
    const reason = fates[index];
    return isReason(reason) ? [{ ...identity, reason, revision: '' }] : [];
  });
  const unknown = missing.length - checked.length + fates.filter((fate) => fate === 'unknown').length;
  await deps.store.asAccount(step.accountId, async (tx) => {
    await retire(tx, step, patientId, retired);
    if (unknown === 0) return;
    const { source, attempt } = step;
    const message = `${resources(unknown)} missing in the answer could not be checked at the source and stay in the record`;
    const onceKey = `unchecked/${source}/${attempt}`;
    await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, onceKey });
  });
}

const isReason = (fate: Fate | undefined): fate is RetireReason => fate === 'deleted' || fate === 'moved';

/** Another order for each query, so that those that cannot be checked do not keep the others waiting for ever. */
function inTurn(missing: readonly Identity[], requestId: string): Identity[] {
  const place = ({ resourceType, id }: Identity) =>
    createHash('sha256').update(`${requestId}/${resourceType}/${id}`).digest('hex');
  return missing
    .map((identity) => ({ identity, place: place(identity) }))
    .sort((left, right) => (left.place < right.place ? -1 : 1))
    .map(({ identity }) => identity);
}

/** Says in the timeline what an attempt retired; returns how many resources. */
export async function tellRetired(tx: AccountTx, step: SourceStepInput): Promise<number> {
  const counts = await countRetired(tx, step);
  const { source, attempt } = step;
  let total = 0;
  for (const [reason, says] of REASONS) {
    const own = counts.filter((count) => count.reason === reason);
    const sum = own.reduce((before, { count }) => before + count, 0);
    if (sum === 0) continue;
    total += sum;
    const types = own.map(({ resourceType, count }) => `${count} ${resourceType}`).join(', ');
    const were = sum === 1 ? 'it was retired' : 'they were retired';
    const message = `${says} ${resources(sum)}: ${were} (${types})`;
    const onceKey = `retired/${reason}/${source}/${attempt}`;
    await addToTimeline(tx, step.requestId, { source, attempt, kind: 'retired', message, onceKey });
  }
  return total;
}

const REASONS: readonly [RetireReason, string][] = [
  ['deleted', 'The source no longer has'],
  ['moved', 'The source now names another person in'],
];

const resources = (count: number): string => (count === 1 ? '1 resource' : `${count} resources`);
