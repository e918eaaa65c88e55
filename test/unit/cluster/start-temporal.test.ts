import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../src/lib/free-port.ts';
import { startTemporalCluster } from '../../../tools/cluster/temporal/start-temporal.ts';
import { reachable } from '../../../tools/embedded/stack-servers.ts';
import { makeTestFolder } from '../../support/test-folder.ts';

test('a cluster whose Temporal server cannot be built says why, and what to do', async () => {
  const dataDir = await makeTestFolder();
  const site = { dataDir, log: () => undefined };
  const noPrograms = () => Promise.reject(new Error('Go is not on the PATH'));
  const context = { outside: {} } as never;
  const start = startTemporalCluster(
    site as never,
    context,
    'postgres://unused',
    noPrograms,
  );
  await expect(start).rejects.toThrow(
    /cannot be built: Go is not on the PATH. Install Go.*TEMPORAL_ADDRESS/,
  );
});

test('workflows of a data folder that began with the development server are not left behind', async () => {
  const dataDir = await makeTestFolder();
  await mkdir(join(dataDir, 'temporal'));
  await writeFile(join(dataDir, 'temporal', 'temporal.db'), '');
  const start = startTemporalCluster(
    { dataDir } as never,
    { outside: {} } as never,
    'postgres://unused',
  );
  await expect(start).rejects.toThrow(
    'The workflows of this data folder are in the development server',
  );
});

test('an external Temporal that is not there is reported at once, with its address', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  await expect(reachable({ address, namespace: 'default' })).rejects.toThrow(
    `Temporal cannot be reached at ${address}. Check that it is running and that TEMPORAL_ADDRESS is correct.`,
  );
});

test('an external Temporal that listens is used', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const temporal = { address: `127.0.0.1:${port}`, namespace: 'default' };
  expect(await reachable(temporal)).toEqual(temporal);
});
