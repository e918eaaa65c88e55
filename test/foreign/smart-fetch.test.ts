import { execFile, execFileSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { registerClientCommand } from '../../src/exchange/admin/clients.ts';
import type { AdminTarget } from '../../src/exchange/admin/command.ts';
import { createExportRunner } from '../../src/exchange/bulk-export/run-export.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';

/** A bulk data client by others (PyPI), installed into a folder of the test. */
const CLIENT = 'smart-fetch==1.0.3';
const run = promisify(execFile);

const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 11))'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
})();
if (!hasPython)
  process.stdout.write('smart-fetch is not tried: python3 (3.11 or newer) with venv is not here.\n');

let door: FhirDoor;
let folder: string;
let base: string;
let clientId: string;

beforeAll(async () => {
  if (!hasPython) return;
  folder = await makeTestFolder();
  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', CLIENT]);
  const port = await freePort();
  base = `http://127.0.0.1:${port}/fhir/R4`;
  door = await createFhirDoor({
    publicBaseUrl: `http://127.0.0.1:${port}`,
    bulkExports: { launch: (accountId, exportId) => void work(accountId, exportId), stop: () => undefined },
  });
  for (const sample of samples.slice(0, 3)) await door.addSample(sample);
  const pair = await generateKeyPair('ES384', { extractable: true });
  const keys = async (key: typeof pair.privateKey, use: string) =>
    JSON.stringify({ keys: [{ ...(await exportJWK(key)), alg: 'ES384', kid: 'k', key_ops: [use] }] });
  await writeFile(join(folder, 'public.jwks'), await keys(pair.publicKey, 'verify'));
  await writeFile(join(folder, 'private.jwks'), await keys(pair.privateKey, 'sign'));
  const { document } = await registerClientCommand({ store: door.store } as AdminTarget, {
    account: door.accountId,
    jwksFile: join(folder, 'public.jwks'),
    scopes: 'system/*.rs',
  });
  clientId = String(document.clientId);
  await door.gateway.app.listen({ host: '127.0.0.1', port });
});
afterAll(async () => {
  if (!hasPython) return;
  await door.close();
  await rm(folder, { recursive: true, force: true });
});

async function work(accountId: string, exportId: string): Promise<void> {
  const runner = createExportRunner({ ...door, publicBaseUrl: new URL(base).origin });
  await runner.listPatients({ accountId, exportId });
  await runner.writeSlices({ accountId, exportId });
}

async function fetchAll(command: 'bulk' | 'crawl'): Promise<Record<string, string[]>> {
  const out = join(folder, command);
  const access = [
    '--fhir-url',
    base,
    '--smart-client-id',
    clientId,
    '--smart-key',
    join(folder, 'private.jwks'),
  ];
  const options = ['--no-compression', '--no-default-filters'];
  await run(join(folder, 'venv/bin/smart-fetch'), [command, ...access, ...options, out]);
  const ids: Record<string, string[]> = {};
  for (const file of await readdir(out)) {
    const type = /^([A-Z]\w+)\..*ndjson$/.exec(file)?.[1];
    if (type === undefined) continue;
    const lines = (await readFile(join(out, file), 'utf8')).split('\n').filter((line) => line !== '');
    ids[type] = [...(ids[type] ?? []), ...lines.map((line) => String(JSON.parse(line).id))].sort();
  }
  return ids;
}

test.runIf(hasPython)(
  'smart-fetch gets the same records by a bulk export and by searches',
  { timeout: 300_000 },
  async () => {
    const exported = await fetchAll('bulk');
    expect(exported.Patient).toHaveLength(3);
    expect(exported.Observation?.length).toBeGreaterThan(100);
    expect(await fetchAll('crawl')).toEqual(exported);
  },
);
