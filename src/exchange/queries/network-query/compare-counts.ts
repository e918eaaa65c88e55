import type { AccountTx } from '../../platform/database/database.ts';
import type { PartStep } from './attempt-store.ts';
import { countHeld, readCollection } from './collection-store.ts';
import type { Retiring } from './retire-missing.ts';
import type { Collection } from './tables.ts';

/** After an answer with changes, the source counts other numbers of resources than the record holds. */
export class CountsDiffer extends Error {
  override readonly name = 'CountsDiffer';

  /** @param counts what the source counts, by type */
  constructor(readonly counts: Readonly<Record<string, number>>) {
    super('The source counts other numbers of resources than the record holds');
  }
}

/** After an answer with changes, the source does not say how many resources it has: what it deleted would not be noticed. */
export class CountsMissing extends Error {
  override readonly name = 'CountsMissing';
}

/** What an answer with changes is compared with. */
export interface Countable {
  collection: Collection;
  /** How many resources the record holds of the connection, by type. */
  held: ReadonlyMap<string, number>;
}

/** Reads it; undefined when everything was asked for. */
export async function readCountable(
  tx: AccountTx,
  { connectors }: Pick<Retiring, 'connectors'>,
  step: PartStep,
  patientId: string,
): Promise<Countable | undefined> {
  if (connectors[step.source].changes === undefined) return undefined;
  const collection = await readCollection(tx, step);
  if (collection?.since === undefined) return undefined;
  return { collection, held: await countHeld(tx, step, patientId) };
}

/**
 * Compares, after an answer with changes, how many resources of each type the source counts with how many the record holds of
 * it. So what was deleted, moved to another person or filed with an old time is noticed. Throws CountsDiffer,
 * CountsMissing.
 */
export async function compareCounts(
  { connectors }: Pick<Retiring, 'connectors'>,
  step: PartStep,
  countable: Countable | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { changes } = connectors[step.source];
  if (changes === undefined || countable === undefined) return;
  const { collection, held } = countable;
  const counts = await changes.count(collection.patientIds, [...held.keys()], signal);
  const { differences = {} } = collection;
  const complete: [string, number][] = [];
  for (const [type, count] of counts) {
    if (count === undefined)
      throw new CountsMissing(`The source does not count its resources of type ${type}`);
    complete.push([type, count]);
  }
  const isOther = complete.some(
    ([type, count]) => count !== (held.get(type) ?? 0) + (differences[type] ?? 0),
  );
  if (isOther) throw new CountsDiffer(Object.fromEntries(complete));
}
