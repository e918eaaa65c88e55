import { createHash } from 'node:crypto';
import { z } from 'zod';
import { counted } from '../../../lib/counted.ts';
import { BlobStoreUnavailableError } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { isConnectionFault } from '../../platform/database/postgres-errors.ts';
import { readSourcePatientIds } from '../../records/deliveries/delivery-store.ts';
import {
  type CompleteResult,
  findMissing,
  retire,
} from '../../records/merge/retirement-store.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { isInNamespace } from '../../records/rules/ids.ts';
import type { Identity, RetireReason } from '../../records/rules/retirement.ts';
import type { Fate } from '../../sources/connectors/connector.ts';
import { partKey, type SourceWork, savePosition } from './attempt-store.ts';
import { countHeld, readCollection } from './collection-store.ts';
import { endMerged } from './endings.ts';
import { AttemptSuperseded, MergeFailed, StepGoesOn } from './step-errors.ts';
import type { Collection } from './tables.ts';
import { createTimeBox } from './time-box.ts';
import { addOfStep } from './timeline-store.ts';

export interface Completing {
  store: Pick<Store, 'asAccount'>;
  records: RecordKeeper;
  /** For tests. Default: the system clock. */
  clock?: () => Date;
}

/**
 * Finishes a part whose pages are all stored: retires what the source no longer
 * has, merges the collected data into the patient's record, and ends the part
 * in the transaction that merges the last of it. Throws AttemptSuperseded when
 * the attempt was ended otherwise meanwhile, CountsDiffer or CountsMissing
 * when an answer with changes does not account for what the source has, and
 * StepGoesOn when more than a step can check is missing: what is stored is
 * merged until then.
 *
 * @param answer what the answer is compared with, if it has been read
 */
export async function completeCollected(
  deps: Completing,
  on: SourceWork,
  answer?: StoredAnswer,
): Promise<void> {
  const { store, records } = deps;
  const { step, work } = on;
  const { countable, missing } =
    answer ??
    (await store.asAccount(step.accountId, async (tx) =>
      readAnswer(tx, on, await readCollection(tx, step)),
    ));
  await compareCounts(on, countable);
  const isChecked = await retireMissing(deps, on, missing);
  let isEnded = false as boolean;
  await merge(records, on, async (tx) => {
    if (isChecked) isEnded = await endMerged(tx, step, work.patientId);
  });
  if (!isChecked) throw new StepGoesOn(step.source);
  // The attempt may have been given up while its last pages were merged.
  if (!isEnded)
    throw new AttemptSuperseded(
      'The attempt was ended while its data was merged',
    );
}

/**
 * Merges the data collected so far into the patient's record. Throws
 * MergeFailed when that is a fault of ours.
 *
 * @param atEnd runs in the transaction that merges the last of it
 */
export async function merge(
  records: RecordKeeper,
  { step, work }: SourceWork,
  atEnd: (tx: AccountTx) => Promise<void>,
): Promise<void> {
  const options = { documentsOf: step.source, atEnd };
  await records
    .merge(step.accountId, work.patientId, options)
    .catch((error: unknown) => {
      const isKnown =
        error instanceof AttemptSuperseded ||
        error instanceof BlobStoreUnavailableError;
      throw isKnown || isConnectionFault(error)
        ? error
        : new MergeFailed(error);
    });
}

/** What the pages of an answer are compared with, once they are all stored. */
export interface StoredAnswer {
  countable?: Countable;
  missing?: Missing;
}

/** What an answer with changes is compared with. */
interface Countable {
  collection: Collection;
  /** How many resources the record holds of the connection, by type. */
  held: ReadonlyMap<string, number>;
}

/**
 * What a complete answer no longer contains, and how to ask the source about
 * it.
 */
interface Missing extends CompleteResult {
  /** The person's Patient ids at the connection. */
  patientIds: string[];
}

/**
 * Reads what to compare an answer with: the counts, unless everything was asked
 * for; what is missing, if something is and the answer is complete.
 */
export async function readAnswer(
  tx: AccountTx,
  { step, work: { patientId }, connector }: SourceWork,
  collection: Collection | undefined,
): Promise<StoredAnswer> {
  const countable =
    connector.changes === undefined || collection?.since === undefined
      ? undefined
      : { collection, held: await countHeld(tx, step, patientId) };
  const answer = await findMissing(tx, step, patientId);
  if (answer === undefined || answer.missing.length === 0) return { countable };
  const ids =
    (await readSourcePatientIds(tx, patientId)).get(step.source) ?? [];
  const patientIds = [...ids].filter((id) =>
    isInNamespace(step.part.namespace, id),
  );
  return { countable, missing: { ...answer, patientIds } };
}

/**
 * After an answer with changes, the source counts other numbers of resources
 * than the record holds.
 */
export class CountsDiffer extends Error {
  override readonly name = 'CountsDiffer';
  readonly counts: Readonly<Record<string, number>>;

  /** @param counts what the source counts, by type */
  constructor(counts: Readonly<Record<string, number>>) {
    super('The source counts other numbers of resources than the record holds');
    this.counts = counts;
  }
}

/**
 * After an answer with changes, the source does not say how many resources it
 * has: what it deleted would not be noticed.
 */
export class CountsMissing extends Error {
  override readonly name = 'CountsMissing';
}

/**
 * Compares, after an answer with changes, how many resources of each type the
 * source counts with how many the record holds of it. So what was deleted,
 * moved to another person or filed with an old time is noticed. Throws
 * CountsDiffer, CountsMissing.
 */
async function compareCounts(
  { connector: { changes }, signal }: SourceWork,
  countable: Countable | undefined,
): Promise<void> {
  if (changes === undefined || countable === undefined) return;
  const { collection, held } = countable;
  const counts = await changes.count(
    collection.patientIds,
    [...held.keys()],
    signal,
  );
  const { differences = {} } = collection;
  const complete: [string, number][] = [];
  for (const [type, count] of counts) {
    if (count === undefined)
      throw new CountsMissing(
        `The source does not count its resources of type ${type}`,
      );
    complete.push([type, count]);
  }
  const isOther = complete.some(
    ([type, count]) =>
      count !== (held.get(type) ?? 0) + (differences[type] ?? 0),
  );
  if (isOther) throw new CountsDiffer(Object.fromEntries(complete));
}

/**
 * Resources checked at the source per query, one read each. Later queries check
 * the rest.
 */
const CHECKED_MAX = 200;

/**
 * Retires resources that the source delivered before and that its complete
 * answer no longer contains. Each is first read at the source, because a search
 * may leave out a resource that still exists. An incomplete answer retires
 * nothing. Safe to repeat. (docs/merge.md)
 *
 * @returns false when the time of the step is over and others are to be checked
 */
async function retireMissing(
  { store, clock }: Completing,
  { step, work, connector, signal }: SourceWork,
  answer: Missing | undefined,
): Promise<boolean> {
  if (answer === undefined) return true;
  const { missing, present, patientIds } = answer;
  const before = work.isCollected ? checksOf(work.cursor) : NOTHING_CHECKED;
  const open = inPlaces(missing, step.requestId).filter(
    ({ place }) => place > before.upTo,
  );
  const asked = open.slice(0, Math.max(CHECKED_MAX - before.count, 0));
  const { isOver } = createTimeBox(clock);
  const question = {
    missing: asked.map(({ identity }) => identity),
    present,
    patientIds,
    isOver,
  };
  const fates = await connector.checkMissing(question, signal);
  const checked = asked.slice(0, fates.length);
  const retired = checked.flatMap(({ identity }, index) => {
    const reason = fates[index];
    return isReason(reason) ? [{ ...identity, reason, revision: '' }] : [];
  });
  const checks: Checks = {
    upTo: checked.at(-1)?.place ?? before.upTo,
    count: before.count + checked.length,
    unknown: before.unknown + fates.filter((fate) => fate === 'unknown').length,
  };
  const isDone = checked.length === asked.length;
  const unknown = open.length - asked.length + checks.unknown;
  await store.asAccount(step.accountId, async (tx) => {
    await retire(tx, step, work.patientId, retired);
    if (!isDone) return savePosition(tx, step, checks);
    if (unknown === 0) return;
    const message = `${counted(unknown, 'resource')} missing from the answer could not be checked at the source and ${unknown === 1 ? 'stays' : 'stay'} in the record`;
    const onceKey = `unchecked/${partKey(step)}`;
    await addOfStep(tx, step, { kind: 'incomplete', message, onceKey });
  });
  return isDone;
}

const isReason = (fate: Fate | undefined): fate is RetireReason =>
  fate === 'deleted' || fate === 'moved';

const checksSchema = z.object({
  /** The place of the last resource that was checked. */
  upTo: z.string(),
  count: z.number(),
  /** Resources that could not be read. */
  unknown: z.number(),
});
/**
 * How far the checks of what is missing have come: the cursor of a part whose
 * pages are all stored.
 */
type Checks = z.infer<typeof checksSchema>;

const NOTHING_CHECKED: Checks = { upTo: '', count: 0, unknown: 0 };

const checksOf = (cursor: unknown): Checks =>
  checksSchema.safeParse(cursor).data ?? NOTHING_CHECKED;

/**
 * An order that differs from query to query, so that resources that cannot be
 * checked never block the rest for good, and is the same for all steps of one.
 */
function inPlaces(
  missing: readonly Identity[],
  requestId: string,
): { identity: Identity; place: string }[] {
  const place = ({ resourceType, id }: Identity) =>
    createHash('sha256')
      .update(`${requestId}/${resourceType}/${id}`)
      .digest('hex');
  return missing
    .map((identity) => ({ identity, place: place(identity) }))
    .sort((left, right) => (left.place < right.place ? -1 : 1));
}
