import { test as base } from 'vitest';
import { createTestGateway } from './gateway.ts';

// biome-ignore-start lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures one needs

/**
 * Tests of a file with one `gateway`, on a database of its own, and one
 * `account` of it.
 */
export const gatewayTest = base
  .extend('gateway', { scope: 'file' }, async ({}, { onCleanup }) => {
    const gateway = await createTestGateway();
    onCleanup(gateway.close);
    return gateway;
  })
  .extend('account', { scope: 'file' }, ({ gateway }) => gateway.addAccount());
// biome-ignore-end lint/correctness/noEmptyPattern: as above
