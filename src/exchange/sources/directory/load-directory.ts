import { createHash } from 'node:crypto';
import type { Store } from '../../platform/database/database.ts';
import { destinationProblem } from '../../platform/outbox/destination-guard.ts';
import {
  beginLoad,
  completeLoad,
  type DirectoryRemark,
  type EntryToWrite,
  endLoad,
  type Load,
  remarkOnLinks,
  writeEntries,
  writeParts,
  writeRemarks,
} from './directory-store.ts';
import { type LoadCounts, NOTHING_LOADED } from './load-counts.ts';
import {
  type DirectoryOrigin,
  OriginUnreadable,
  readOrigin,
  shownOrigin,
} from './read-origin.ts';
import {
  type DirectoryEntry,
  type DirectoryPart,
  type ReadItem,
  readDirectoryResource,
} from './rules/read-resource.ts';
import { positionOfZip } from './zip-centroids.ts';

/** So many items are written in one transaction. */
const BATCH = 500;

export interface LoadedDirectory {
  counts: LoadCounts;
  /** Why entries that it lacks were kept, if they were. */
  kept?: string | undefined;
}

/**
 * Loads a directory from its origin, batch by batch: every item that is read is
 * counted once. Entries are visible from their batch on; what is no longer there
 * is removed at the end, and nothing is when the origin breaks off. May run
 * twice.
 *
 * @param onBatch is told the counts so far
 * @throws OriginUnreadable
 */
export async function loadDirectory(
  { store }: { store: Pick<Store, 'asSystem'> },
  load: Load,
  origin: DirectoryOrigin,
  signal: AbortSignal,
  onBatch: (counts: LoadCounts) => void = () => undefined,
): Promise<LoadedDirectory> {
  await store.asSystem((tx) =>
    beginLoad(tx, load, shownOrigin(origin.address)),
  );
  const run = new LoadRun(store, load);
  try {
    for await (const item of readOrigin(origin, signal)) {
      const isFull = run.add(
        'fault' in item
          ? { kind: 'refused', reason: item.fault }
          : readDirectoryResource(item.text, run.beganAt),
      );
      if (!isFull) continue;
      await run.write();
      onBatch(run.counts);
    }
    await run.write();
    if (run.counts.read === run.counts.refused + run.counts.ignored)
      throw new OriginUnreadable('it has no organizations', { mayPass: false });
    return await store.asSystem(async (tx) => {
      const { removed, kept } = await completeLoad(tx, load);
      await remarkOnLinks(tx, load);
      const counts = { ...run.counts, removed };
      await endLoad(tx, load, { status: 'completed', counts, reason: kept });
      return { counts, kept };
    });
  } catch (error) {
    if (error instanceof OriginUnreadable) {
      await run.write();
      await store.asSystem((tx) =>
        endLoad(tx, load, {
          status: 'failed',
          counts: run.counts,
          reason: error.message,
        }),
      );
    }
    throw error;
  }
}

/** The items of a load on their way to the database. */
class LoadRun {
  counts: LoadCounts = { ...NOTHING_LOADED };
  readonly beganAt = new Date();
  readonly #store: Pick<Store, 'asSystem'>;
  readonly #load: Load;
  /** When the entries that were read so far were changed last, by id. */
  readonly #seen = new Map<string, number>();
  #entries = new Map<string, EntryToWrite>();
  #parts = new Map<string, DirectoryPart>();
  #remarks: DirectoryRemark[] = [];
  #waiting = 0;

  constructor(store: Pick<Store, 'asSystem'>, load: Load) {
    this.#store = store;
    this.#load = load;
  }

  /** @returns whether it is time to write */
  add(item: ReadItem): boolean {
    this.counts.read += 1;
    this.#waiting += 1;
    switch (item.kind) {
      case 'entry':
        this.#addEntry(item);
        break;
      case 'part':
        this.counts.parts += 1;
        this.#parts.set(item.part.id, item.part);
        this.#remark(item.part.id, [
          ...item.remarks,
          ...remarksOnAddresses([item.part.address]),
        ]);
        break;
      case 'ignored':
        this.counts.ignored += 1;
        break;
      case 'refused':
        this.counts.refused += 1;
        this.#remark(item.id ?? null, [`refused: it ${item.reason}`]);
    }
    return this.#waiting >= BATCH;
  }

  /** Of several entries with one id, the one that was changed last counts. */
  #addEntry({
    entry,
    updatedMs,
    remarks,
  }: Extract<ReadItem, { kind: 'entry' }>): void {
    const { id } = entry;
    const seenMs = this.#seen.get(id);
    const all = [
      ...remarks,
      ...remarksOnAddresses([
        entry.discoveryUrl,
        entry.queryUrl,
        entry.retrieveUrl,
        entry.fhirUrl,
      ]),
    ];
    if (all.length > 0) this.counts.remarked += 1;
    this.#remark(id, all);
    if (seenMs !== undefined) {
      this.counts.repeated += 1;
      this.#remark(id, [
        updatedMs < seenMs
          ? 'repeats an id: the one that was changed last counts, not this one'
          : 'repeats an id: this one counts',
      ]);
      if (updatedMs < seenMs) return;
    }
    this.#seen.set(id, updatedMs);
    this.#entries.set(id, placed(entry));
  }

  #remark(entryId: string | null, remarks: readonly string[]): void {
    const place = this.counts.read;
    for (const remark of remarks)
      this.#remarks.push({ place, entryId, remark });
  }

  async write(): Promise<void> {
    const entries = [...this.#entries.values()];
    const parts = [...this.#parts.values()];
    const remarks = this.#remarks;
    this.#entries = new Map();
    this.#parts = new Map();
    this.#remarks = [];
    this.#waiting = 0;

    const { added, changed, unchanged } = await this.#store.asSystem(
      async (tx) => {
        await writeParts(tx, this.#load, parts);
        await writeRemarks(tx, this.#load, remarks);
        return writeEntries(tx, this.#load, entries);
      },
    );
    this.counts.added += added;
    this.counts.changed += changed;
    this.counts.unchanged += unchanged;
  }
}

/** Others' gateways have public addresses: these are hardly meant. */
function remarksOnAddresses(values: readonly unknown[]): string[] {
  const isOurs = values.some(
    (value) =>
      typeof value === 'string' &&
      /^https?:/i.test(value) &&
      destinationProblem(value, { allowLoopback: false }) !== undefined,
  );
  return isOurs
    ? ['has an address without https, of this machine or in a private network']
    : [];
}

/** With its position: its own, or that of its zip. */
function placed(entry: DirectoryEntry): EntryToWrite {
  const content = createHash('sha256')
    .update(JSON.stringify(entry))
    .digest('hex');
  if (entry.latitude !== null)
    return { ...entry, content, positionFrom: 'location' };
  const position = entry.zip === null ? undefined : positionOfZip(entry.zip);
  return position === undefined
    ? { ...entry, content, positionFrom: null }
    : { ...entry, ...position, content, positionFrom: 'zip' };
}
