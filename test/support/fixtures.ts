import { test as base } from 'vitest';
import { createQueryEnvironment } from './network-query-environment.ts';
import { createTestStore } from './postgres.ts';
import { createRecordEnvironment } from './record-environment.ts';

// biome-ignore-start lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures one needs

/** Tests of a file with one `store`, on a database of its own. */
export const storeTest = base.extend('store', { scope: 'file' }, async ({}, { onCleanup }) => {
  const { store, close } = await createTestStore();
  onCleanup(close);
  return store;
});

/** Tests of a file with one `environment` of queries: store, blobs and activities with sources that a test scripts. */
export const queryTest = base.extend('environment', { scope: 'file' }, async ({}, { onCleanup }) => {
  const environment = await createQueryEnvironment();
  onCleanup(environment.close);
  return environment;
});

/** Tests of a file with one `environment` of records: an account, into which a test delivers as the collection does. */
export const recordTest = base.extend('environment', { scope: 'file' }, async ({}, { onCleanup }) => {
  const environment = await createRecordEnvironment();
  onCleanup(environment.close);
  return environment;
});
// biome-ignore-end lint/correctness/noEmptyPattern: as above
