import { Client } from '@temporalio/client';
import { inject } from 'vitest';
import { openConnection } from '../../src/temporal/connection.ts';
import { startReceiver } from './events-environment.ts';
import { queryTest } from './fixtures.ts';
import { createTestNamespace } from './temporal-namespace.ts';

// biome-ignore-start lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures one needs

/**
 * Tests with `temporal`, a client in a namespace of the file, and `receive`,
 * which starts receivers that close after the file.
 */
export const eventsTest = queryTest
  .extend('temporal', { scope: 'file' }, async ({}, { onCleanup }) => {
    const connection = await openConnection({
      address: inject('temporalAddress'),
    });
    onCleanup(() => connection.close());
    return new Client({ connection, namespace: await createTestNamespace() });
  })
  .extend('receive', { scope: 'file' }, ({}, { onCleanup }) => {
    const receivers: Awaited<ReturnType<typeof startReceiver>>[] = [];
    onCleanup(
      async () =>
        void (await Promise.all(receivers.map(({ close }) => close()))),
    );
    return async (answer?: Parameters<typeof startReceiver>[0]) => {
      const receiver = await startReceiver(answer);
      receivers.push(receiver);
      return receiver;
    };
  });
// biome-ignore-end lint/correctness/noEmptyPattern: as above
