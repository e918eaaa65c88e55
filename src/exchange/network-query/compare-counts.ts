import type { PartStep } from './attempt-store.ts';
import { countHeld, readCollection } from './collection-store.ts';
import type { Retiring } from './retire-missing.ts';

/** After an answer with changes, the source counts other numbers of resources than the record holds. */
export class CountsDiffer extends Error {
  override readonly name = 'CountsDiffer';

  /** @param counts what the source counts, by type */
  constructor(readonly counts: Readonly<Record<string, number>>) {
    super('The source counts other numbers of resources than the record holds');
  }
}

/**
 * Compares, after an answer with changes, how many resources of each type the source counts with how many the record holds of
 * it. So what was deleted, moved to another person or filed with an old time is noticed. Throws CountsDiffer.
 */
export async function compareCounts(
  { store, connectors }: Retiring,
  step: PartStep,
  patientId: string,
  signal: AbortSignal,
): Promise<void> {
  const { changes } = connectors[step.source];
  if (changes === undefined) return;
  const { collection, held } = await store.asAccount(step.accountId, async (tx) => {
    const asked = await readCollection(tx, step);
    const counted = asked?.since === undefined ? undefined : await countHeld(tx, step, patientId);
    return { collection: asked, held: counted };
  });
  if (collection === undefined || held === undefined) return;
  const counts = await changes.count(collection.patientIds, [...held.keys()], signal);
  const { differences = {} } = collection;
  const isOther = [...counts].some(
    ([type, count]) => count !== (held.get(type) ?? 0) + (differences[type] ?? 0),
  );
  if (isOther) throw new CountsDiffer(Object.fromEntries(counts));
}
