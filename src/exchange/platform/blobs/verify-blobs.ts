import { sql } from 'kysely';
import type { Logger } from '../../../lib/logger.ts';
import {
  BLOB_KINDS,
  type BlobStore,
  type ListedBlob,
} from '../../../shared/blobs/blob-store.ts';
import type { SealedStorage } from '../../../shared/blobs/encrypted-blob-store.ts';
import type { Store, SystemTx } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { BLOB_NAMING_COLUMNS, findUnnamedBlobs } from './named-blobs.ts';

/** A row refers to the blob soon after it was written. */
const SETTLED_MS = 15 * 60_000;
const BATCH = 1_000;
const LISTED_MAX = 1_000;
/**
 * Rows that keep the reference after their blob was deleted, because its time
 * was over.
 */
const DELETED: Readonly<Record<string, string>> = {
  "bulk_request.upload->>'ref'": 'upload_deleted_at',
  "consolidated_query.result->>'ref'": 'result_deleted_at',
};
/** Rows about blobs that are being deleted. */
const ERASURE = 'erasure';

interface NamedBlob {
  table: string;
  ref: string;
}

/** Needs no keys: only names are compared. */
export type BlobNames = Pick<SealedStorage, 'list'>;

export interface BlobReport {
  /** Blobs in the store. */
  blobs: number;
  /** References in rows whose blob has to exist. */
  references: number;
  /** References to blobs that do not exist, by table. */
  missing: Record<string, number>;
  /** The first of them. */
  missingBlobs: NamedBlob[];
  /** Blobs that no row refers to. */
  unnamed: number;
}

/** The parts of the store by the first two hex digits of the names. */
export const PARTS = 256;
export const hexDigits = (part: number): string =>
  part.toString(16).padStart(2, '0');

interface BlobVerification {
  store: Pick<Store, 'asSystem'>;
  /** Lists the blobs whose names begin with the digits, of all kinds. */
  list(digits: string): AsyncIterable<ListedBlob>;
}

/**
 * Compares the blobs with the rows that refer to them, one part of the names at
 * a time, so that memory stays bounded.
 */
export async function verifyBlobs({
  store,
  blobs,
}: {
  store: Pick<Store, 'asSystem'>;
  blobs: BlobNames;
}): Promise<BlobReport> {
  const report: BlobReport = {
    blobs: 0,
    references: 0,
    missing: {},
    missingBlobs: [],
    unnamed: 0,
  };
  const list = (digits: string) => listAllKinds(blobs, digits);
  for (let part = 0; part < PARTS; part++) {
    const { missing, references, all, settled } = await verifyPart(
      { store, list },
      hexDigits(part),
    );
    report.references += references;
    report.blobs += all.size;
    for (const blob of missing) {
      report.missing[blob.table] = (report.missing[blob.table] ?? 0) + 1;
      if (report.missingBlobs.length < LISTED_MAX)
        report.missingBlobs.push(blob);
    }
    for (let start = 0; start < settled.length; start += BATCH) {
      const batch = settled.slice(start, start + BATCH);
      report.unnamed += (
        await store.asSystem((tx) => findUnnamedBlobs(tx, batch))
      ).length;
    }
  }
  return report;
}

/**
 * Compares the blobs of one part with the rows that refer to them. May run
 * while the system works: what seems to be missing is looked up once more.
 */
export async function verifyPart(deps: BlobVerification, digits: string) {
  const named = await deps.store.asSystem((tx) => namedInPart(tx, digits));
  const { all, settled } = await listPart(deps, digits);
  return {
    references: named.length,
    all,
    settled,
    missing: await missingOf(deps, named, all, digits),
  };
}

async function missingOf(
  deps: BlobVerification,
  named: readonly NamedBlob[],
  existing: ReadonlySet<string>,
  digits: string,
): Promise<NamedBlob[]> {
  if (named.every(({ ref }) => existing.has(ref))) return [];
  // A blob may have been deleted in between, and its row with it.
  const { all } = await listPart(deps, digits);
  const still = await deps.store.asSystem((tx) => namedInPart(tx, digits));
  return still.filter(({ ref }) => !all.has(ref) && !existing.has(ref));
}

async function* listAllKinds(
  blobs: BlobNames,
  digits: string,
): AsyncIterable<ListedBlob> {
  for (const kind of BLOB_KINDS) yield* blobs.list(kind, digits);
}

async function listPart(
  { list }: BlobVerification,
  digits: string,
): Promise<{ all: Set<string>; settled: string[] }> {
  const settledBefore = Date.now() - SETTLED_MS;
  const all = new Set<string>();
  const settled: string[] = [];
  for await (const { ref, writtenAt } of list(digits)) {
    all.add(ref);
    if (writtenAt.getTime() < settledBefore) settled.push(ref);
  }
  return { all, settled };
}

/** Reads each column's index once for each kind of blob. */
async function namedInPart(tx: SystemTx, digits: string): Promise<NamedBlob[]> {
  const named: NamedBlob[] = [];
  for (const [table, ref] of BLOB_NAMING_COLUMNS) {
    if (table === ERASURE) continue;
    const deleted = DELETED[`${table}.${ref}`];
    const isKept =
      deleted === undefined
        ? sql``
        : sql`and ${sql.ref(`named.${deleted}`)} is null`;
    const { rows } = await sql<NamedBlob>`
      select ${table} as "table", ${sql.raw(`named.${ref}`)} as ref
      from unnest(${[...BLOB_KINDS]}::text[]) as blob (kind)
      join ${sql.table(table)} named
        on ${sql.raw(`named.${ref}`)} between blob.kind || '/' || ${digits} and blob.kind || '/' || ${digits} || 'g'
      where starts_with(${sql.raw(`named.${ref}`)}, blob.kind || '/' || ${digits}) ${isKept}
    `.execute(tx.db);
    named.push(...rows);
  }
  return named;
}

/**
 * Finds blobs that rows refer to and that are missing, for example after a
 * restore: one part of the store in each round, all of them in 256 rounds. It
 * cannot heal them; they must come from a backup of the blobs.
 */
export function missingBlobs(deps: {
  store: Pick<Store, 'asSystem'>;
  blobs: Pick<BlobStore, 'list'>;
  logger: Pick<Logger, 'error'>;
}): Recovery {
  const { store, blobs, logger } = deps;
  const list = (digits: string) => blobs.list(digits);
  return {
    name: 'missing blobs',
    async takeUp({ cursor = '0' }) {
      const part = Number(cursor);
      const { missing } = await verifyPart({ store, list }, hexDigits(part));
      if (missing.length > 0)
        logger.error(
          {
            missing: missing.length,
            tables: [...new Set(missing.map(({ table }) => table))],
          },
          'blobs that rows refer to are missing; "npm run admin -- blobs verify" lists them',
        );
      return {
        found: missing.length,
        healed: 0,
        failures: [],
        cursor: String((part + 1) % PARTS),
      };
    },
  };
}
