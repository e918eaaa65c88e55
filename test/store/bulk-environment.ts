import { readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { v7 as uuidv7 } from 'uuid';
import { test as base } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  type BulkEngine,
  createBulkEngine,
} from '../../src/exchange/people/bulk-create/engine.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { testKeyRing } from '../support/test-keys.ts';

export const HMAC_KEY = 'hmac-key-of-the-tests-of-bulk-creates';

const NAMES = [
  'firstName',
  'lastName',
  'dob',
  'gender',
  'addressLine1-1',
  'city-1',
  'state-1',
  'zip-1',
];

/**
 * The engine on a database and a blob folder of its own; chunks of two rows, so
 * that a few rows are many chunks.
 */
export async function createBulkEnvironment({ chunkRows = 2 } = {}) {
  const database = await createTestDatabase();
  const store = createStore({ databaseUrl: database.databaseUrl, poolMax: 12 });
  const blobFolder = join(tmpdir(), `bulk-test-${uuidv7()}`);
  const blobs = await openFileBlobStore(blobFolder, testKeyRing());
  const engineWith = (
    parts: { store?: Store; blobs?: BlobStore; chunkRows?: number } = {},
  ): BulkEngine =>
    createBulkEngine({ store, blobs, hmacKey: HMAC_KEY, chunkRows, ...parts });
  const engine = engineWith();

  return {
    databaseUrl: database.databaseUrl,
    store,
    blobs,
    blobFolder,
    engine,
    /** The engine as another process has it, perhaps one that dies. */
    engineWith,
    async addAccount(): Promise<{ accountId: string; facilityId: string }> {
      const accountId = uuidv7();
      const facilityId = uuidv7();
      await store.asSystem((tx) =>
        insertAccount(tx, { id: accountId, name: 'Test', settings: {} }),
      );
      await store.asAccount(accountId, (tx) =>
        insertFacility(tx, { ...FACILITY, id: facilityId }),
      );
      return { accountId, facilityId };
    },
    async addCohort(
      accountId: string,
      purpose: 'treatment' | 'operations',
    ): Promise<string> {
      const id = uuidv7();
      await store.asAccount(accountId, (tx) =>
        tx.db
          .insertInto('cohort')
          .values({
            id,
            account_id: accountId,
            name: `cohort ${id}`,
            description: '',
            color: 'white',
            purpose_of_use: purpose,
            settings: '{}',
          })
          .execute(),
      );
      return id;
    },
    /** A request whose file has come. */
    async upload(
      { accountId, facilityId }: { accountId: string; facilityId: string },
      csv: string,
      { dryRun = false } = {},
    ): Promise<string> {
      const requestId = uuidv7();
      const upload = await blobs.put('upload', Buffer.from(csv), 'text/csv');
      await store.asAccount(accountId, (tx) =>
        tx.db
          .insertInto('bulk_request')
          .values({
            id: requestId,
            account_id: accountId,
            facility_id: facilityId,
            dry_run: dryRun,
            status: 'processing',
            upload_expires_at: new Date(),
            upload: JSON.stringify(upload),
          })
          .execute(),
      );
      return requestId;
    },
    /** The whole engine over a request; answers the rows of its result CSV. */
    async run(accountId: string, requestId: string, by: BulkEngine = engine) {
      const checked = await by.check(accountId, requestId);
      if (checked.kind === 'refused') throw new Error(checked.reason);
      const { done } = await by.processChunks(accountId, requestId);
      if (!done) throw new Error('not done');
      return this.result(accountId, requestId, by);
    },
    async result(
      accountId: string,
      requestId: string,
      by: BulkEngine = engine,
    ): Promise<ResultRow[]> {
      const { ref } = await by.join(accountId, requestId);
      return parse(await blobs.read(ref), {
        columns: true,
        bom: true,
      }) as ResultRow[];
    },
    /**
     * Everything of an account that an import must leave right, without ids, in
     * an order of its own.
     */
    async patients(accountId: string) {
      return store.asAccount(accountId, async (tx) => {
        const rows = await tx.db
          .selectFrom('patient')
          .selectAll()
          .select((eb) => [
            eb
              .selectFrom('patient_identity_key as k')
              .whereRef('k.patient_id', '=', 'patient.id')
              .select(({ fn }) => fn.countAll<number>().as('n'))
              .as('keys'),
            eb
              .selectFrom('cohort_member as m')
              .whereRef('m.patient_id', '=', 'patient.id')
              .select(({ fn }) => fn.countAll<number>().as('n'))
              .as('memberships'),
          ])
          .orderBy('created_at')
          .orderBy('id')
          .execute();
        return rows.map(
          ({
            id,
            account_id,
            version,
            created_at,
            updated_at,
            facility_ids,
            ...content
          }) => content,
        );
      });
    },
    counts: (accountId: string, requestId: string) =>
      store.asAccount(accountId, (tx) =>
        tx.db
          .selectFrom('bulk_request')
          .select(['rows', 'handled', 'created', 'updated', 'failed'])
          .where('id', '=', requestId)
          .executeTakeFirstOrThrow(),
      ),
    countBlobs: async () =>
      (
        await readdir(blobFolder, { recursive: true, withFileTypes: true })
      ).filter((entry) => entry.isFile()).length,
    /** All blobs that are there now were written so long ago. */
    async ageBlobs(ageMs: number): Promise<void> {
      const writtenAt = new Date(Date.now() - ageMs);
      for (const entry of await readdir(blobFolder, {
        recursive: true,
        withFileTypes: true,
      }))
        if (entry.isFile())
          await utimes(
            join(entry.parentPath, entry.name),
            writtenAt,
            writtenAt,
          );
    },
    async close() {
      await store.close();
      await database.drop();
      await rm(blobFolder, { recursive: true, force: true });
    },
  };
}

export interface ResultRow extends Record<string, string> {
  patientId: string;
  metriportId: string;
  status: string;
  reason: string;
}

const FACILITY = {
  oid: '2.16.840.1.113883.3.9621.5.1',
  name: 'Test clinic',
  npi: '1234567893',
  tin: null,
  address: {
    addressLine1: '1 Main St',
    city: 'Boston',
    state: 'MA',
    zip: '02116',
    country: 'USA',
  },
};

/** A person's row; a zip tells namesakes apart. */
export const person = (
  name: string,
  zip = '02116',
  changes: Record<string, string> = {},
) => ({
  firstName: name,
  lastName: 'Lee',
  dob: '1980-01-01',
  gender: 'F',
  'addressLine1-1': '1 Main St',
  'city-1': 'Boston',
  'state-1': 'MA',
  'zip-1': zip,
  ...changes,
});

/** Rows as a CSV file, with every column that any of them has. */
export function csvOf(
  rows: readonly Record<string, string>[],
  lineEnd = '\r\n',
): string {
  const columns = [
    ...new Set([...NAMES, ...rows.flatMap((row) => Object.keys(row))]),
  ];
  const cell = (text = '') =>
    /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((cells) => cells.map(cell).join(',') + lineEnd)
    .join('');
}
export type BulkEnvironment = Awaited<ReturnType<typeof createBulkEnvironment>>;

/**
 * Tests of a file with one environment, `env`, whose chunks have `chunkRows`
 * rows: `test.extend('chunkRows', { scope: 'file' }, 3)`.
 */
export const test = base
  .extend('chunkRows', { scope: 'file' }, 2)
  .extend('env', { scope: 'file' }, async ({ chunkRows }, { onCleanup }) => {
    const env = await createBulkEnvironment({ chunkRows });
    onCleanup(env.close);
    return env;
  });
