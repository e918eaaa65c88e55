import { test as base } from 'vitest';
import {
  createQueryAccount,
  createQueryEnvironment,
} from './network-query-environment.ts';
import { createTestStore } from './postgres.ts';
import { createRecordEnvironment } from './record-environment.ts';

// biome-ignore-start lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures one needs

/** Tests of a file with one `store`, on a `database` of its own. */
export const storeTest = base
  .extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
    const database = await createTestStore();
    onCleanup(database.close);
    return database;
  })
  .extend('store', { scope: 'file' }, ({ database }) => database.store);

/**
 * Tests of a file with one `environment` of queries: store, blobs and
 * activities with sources that a test scripts; and with one `account` in it,
 * where they need no more.
 */
export const queryTest = base
  .extend('environment', { scope: 'file' }, async ({}, { onCleanup }) => {
    const environment = await createQueryEnvironment();
    onCleanup(environment.close);
    return environment;
  })
  .extend('account', { scope: 'file' }, ({ environment }) =>
    createQueryAccount(environment),
  );

/**
 * Tests of a file with one `environment` of records: an account, into which a
 * test delivers as the collection does.
 */
export const recordTest = base.extend(
  'environment',
  { scope: 'file' },
  async ({}, { onCleanup }) => {
    const environment = await createRecordEnvironment();
    onCleanup(environment.close);
    return environment;
  },
);
// biome-ignore-end lint/correctness/noEmptyPattern: as above
