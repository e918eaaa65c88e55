import type { RecordReader, RecordResource } from '#record-summary';
import type { Store } from '../../platform/database/database.ts';
import {
  type RecordCompleteness,
  readRecordCompleteness,
  standingForReaders,
} from './completeness.ts';
import {
  type ConsolidatedFilter,
  type ConsolidatedResource,
  consolidatedPages,
  consolidatedResources,
  countConsolidated,
} from './read-consolidated.ts';
import { readReplacedReferences } from './record-store.ts';
import { sourceName } from './source-names.ts';

/** A patient's record as its summaries are made of it. */
export interface PatientRecord extends RecordReader {
  standing: RecordCompleteness;
}

/** A resource whose sources have the names that readers know. */
export const forReaders = (resource: ConsolidatedResource): RecordResource => ({
  ...resource,
  origins: resource.origins.map((origin) => ({
    ...origin,
    source: sourceName(origin.source),
  })),
});

/**
 * How much of records may be kept in memory, shared by those who read at the
 * same time: bytes of text.
 */
export interface KeptBytes {
  left: number;
}

/** Some 20,000 usual resources. */
const KEPT_BYTES_MAX = 32_000_000;

/**
 * Opens a patient's consolidated record. It is read once and kept, so that its
 * tables cost no further statements; types that `kept` leaves no room for are
 * read page by page for each table. Call `RecordKeeper.merge` before, and
 * `close` at the end.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function openRecordReader(
  store: Pick<Store, 'asAccount'>,
  {
    accountId,
    patientId,
    filter,
  }: { accountId: string; patientId: string; filter: ConsolidatedFilter },
  kept: KeptBytes = { left: KEPT_BYTES_MAX },
): Promise<PatientRecord & { close(): void }> {
  // Read first, so that data which arrives while we read is reported as still
  // missing.
  const [standing, counts, replaced] = await store.asAccount(accountId, (tx) =>
    Promise.all([
      readRecordCompleteness(tx, patientId),
      countConsolidated({ ...tx, db: tx.db.together }, patientId, filter),
      readReplacedReferences({ ...tx, db: tx.db.together }, patientId),
    ]),
  );
  const byType = new Map<string, RecordResource[]>();
  let bytesKept = 0;
  const close = () => {
    kept.left += bytesKept;
    bytesKept = 0;
  };
  const isWhole = await keepAll().catch((error: unknown) => {
    close();
    throw error;
  });
  return {
    ...standingForReaders(standing),
    replaced,
    standing,
    counts,
    async *read(types) {
      for (const [type, resources] of byType)
        if (types.includes(type)) yield* resources;
      const others = isWhole ? [] : types.filter((type) => !byType.has(type));
      if (others.length === 0) return;
      const of = { accountId, patientId, filter: { ...filter, types: others } };
      for await (const each of consolidatedResources(store, of))
        yield forReaders(each);
    },
    close,
  };

  /** Returns whether there was room for all. */
  async function keepAll(): Promise<boolean> {
    if (filter.types !== undefined || kept.left <= 0) return false;
    const reading = halvesOf(counts).map(keep);
    // Both have ended before `close` gives back what they have kept.
    await Promise.allSettled(reading);
    const halves = await Promise.all(reading);
    // In the order of the record.
    for (const type of Object.keys(counts)) {
      const resources = halves.map(({ own }) => own.get(type)).find(Boolean);
      if (resources !== undefined) byType.set(type, resources);
    }
    return halves.every(({ isWhole }) => isWhole);
  }

  async function keep(
    types: readonly string[],
  ): Promise<{ own: Map<string, RecordResource[]>; isWhole: boolean }> {
    const own = new Map<string, RecordResource[]>();
    const of = { accountId, patientId, filter: { ...filter, types } };
    for await (const { resources, bytes, next } of consolidatedPages(
      store,
      of,
    )) {
      kept.left -= bytes;
      bytesKept += bytes;
      for (const each of resources.map(forReaders)) {
        const same = own.get(each.resourceType);
        if (same === undefined) own.set(each.resourceType, [each]);
        else same.push(each);
      }
      if (next !== undefined && kept.left <= 0) {
        // There may be more of the last type.
        own.delete(next.resourceType);
        return { own, isWhole: false };
      }
    }
    return { own, isWhole: true };
  }
}

/** Records of fewer resources are read in one page. */
const HALVED_FROM = 1_000;

/**
 * The types in two parts that are read side by side: that with the most
 * resources, often half of all, and the others.
 */
function halvesOf(counts: Readonly<Record<string, number>>): string[][] {
  const [[most, many] = ['', 0], ...others] = Object.entries(counts).sort(
    ([, one], [, other]) => other - one,
  );
  const rest = others.map(([type]) => type);
  const all = others.reduce((sum, [, count]) => sum + count, many);
  return all < HALVED_FROM || rest.length === 0
    ? [[most, ...rest]]
    : [[most], rest];
}
