import { createHash } from 'node:crypto';
import type { SourceStepInput } from '../../../contract/network-query-steps.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { countOf } from '../../../lib/counted.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { readSourcePatientIds } from '../../records/deliveries/source-patient-store.ts';
import {
  type CompleteResult,
  countRetired,
  findMissing,
  retire,
} from '../../records/merge/retirement-store.ts';
import { isIn } from '../../records/rules/namespaces.ts';
import { type Identity, isTakenBack, type RetireReason } from '../../records/rules/retirement.ts';
import type { Fate, SourceConnector, SourcePage } from '../../sources/connectors/connector.ts';
import type { PartStep } from './attempt-store.ts';
import { addToTimeline } from './timeline-store.ts';

export interface Retiring {
  store: Pick<Store, 'asAccount'>;
  connectors: Record<SourceType, Pick<SourceConnector, 'checkMissing' | 'changes'>>;
}

/** Resources checked at the source per query, one read each. Later queries check the rest. */
const CHECKED_MAX = 200;

/** Retires, with the page itself, the resources that the page reports as deleted or as another person's. */
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

/** What a complete answer no longer contains, and how to ask the source about it. */
export interface Missing extends CompleteResult {
  /** The person's Patient ids at the connection. */
  patientIds: string[];
}

/** Reads it; undefined when nothing is missing, or when the answer is not complete. */
export async function readMissing(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
): Promise<Missing | undefined> {
  const answer = await findMissing(tx, step, patientId);
  if (answer === undefined || answer.missing.length === 0) return undefined;
  const ids = (await readSourcePatientIds(tx, patientId)).get(step.source) ?? [];
  return { ...answer, patientIds: [...ids].filter((id) => isIn(step.part?.namespace ?? '', id)) };
}

/**
 * Retires resources that the source delivered before and that its complete answer no longer contains. Each is first read at
 * the source, because a search may leave out a resource that still exists. An incomplete answer retires nothing. Safe to
 * repeat. (docs/merge.md)
 */
export async function retireMissing(
  deps: Retiring,
  step: PartStep,
  patientId: string,
  answer: Missing | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (answer === undefined) return;
  const { missing, present, patientIds } = answer;
  const checked = shuffledFor(missing, step.requestId).slice(0, CHECKED_MAX);
  const question = { missing: checked, present, patientIds };
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
    const message = `${resources(unknown)} missing from the answer could not be checked at the source and ${unknown === 1 ? 'stays' : 'stay'} in the record`;
    const onceKey = `unchecked/${source}/${attempt}${step.part === undefined ? '' : `/${step.part.id}`}`;
    await addToTimeline(tx, step.requestId, { source, attempt, kind: 'incomplete', message, onceKey });
  });
}

const isReason = (fate: Fate | undefined): fate is RetireReason => fate === 'deleted' || fate === 'moved';

/** An order that differs from query to query, so that resources that cannot be checked never block the rest for good. */
function shuffledFor(missing: readonly Identity[], requestId: string): Identity[] {
  const place = ({ resourceType, id }: Identity) =>
    createHash('sha256').update(`${requestId}/${resourceType}/${id}`).digest('hex');
  return missing
    .map((identity) => ({ identity, place: place(identity) }))
    .sort((left, right) => (left.place < right.place ? -1 : 1))
    .map(({ identity }) => identity);
}

/** Records in the timeline what an attempt retired, by reason and type; returns how many resources. */
export async function recordRetired(tx: AccountTx, step: SourceStepInput): Promise<number> {
  const counts = await countRetired(tx, step);
  const { source, attempt } = step;
  let total = 0;
  for (const [reason, beginning] of REASONS) {
    const own = counts.filter((count) => count.reason === reason);
    const sum = own.reduce((before, { count }) => before + count, 0);
    if (sum === 0) continue;
    total += sum;
    const types = own.map(({ resourceType, count }) => `${count} ${resourceType}`).join(', ');
    const were = sum === 1 ? 'it was retired' : 'they were retired';
    const message = `${beginning} ${resources(sum)}: ${were} (${types})`;
    const onceKey = `retired/${reason}/${source}/${attempt}`;
    await addToTimeline(tx, step.requestId, { source, attempt, kind: 'retired', message, onceKey });
  }
  return total;
}

const REASONS: readonly [RetireReason, string][] = [
  ['deleted', 'The source no longer has'],
  ['moved', 'The source now names another person in'],
];

const resources = (count: number): string => countOf(count, 'resource');
