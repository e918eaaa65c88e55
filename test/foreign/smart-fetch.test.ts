import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTestFolder } from '../support/test-folder.ts';
import { type ExportDoor, startExportDoor } from './export-door.ts';
import { hasPython, installPython, run } from './python.ts';

/** A bulk data client by others (PyPI), installed into a folder of the test. */
const CLIENT = 'smart-fetch==1.0.3';

let folder: string;
let started: ExportDoor;

beforeAll(async () => {
  if (!hasPython) return;
  folder = await makeTestFolder();
  await installPython(folder, CLIENT);
  started = await startExportDoor(folder);
});
afterAll(async () => {
  if (!hasPython) return;
  await started.door.close();
  await rm(folder, { recursive: true, force: true });
});

async function fetchAll(
  command: 'bulk' | 'crawl',
): Promise<Record<string, string[]>> {
  const out = join(folder, command);
  const { base, clientId, privateKeys } = started;
  const access = [
    '--fhir-url',
    base,
    '--smart-client-id',
    clientId,
    '--smart-key',
    privateKeys,
  ];
  const options = ['--no-compression', '--no-default-filters'];
  await run(join(folder, 'venv/bin/smart-fetch'), [
    command,
    ...access,
    ...options,
    out,
  ]);
  const ids: Record<string, string[]> = {};
  for (const file of await readdir(out)) {
    const type = /^([A-Z]\w+)\..*ndjson$/.exec(file)?.[1];
    if (type === undefined) continue;
    const lines = (await readFile(join(out, file), 'utf8'))
      .split('\n')
      .filter((line) => line !== '');
    ids[type] = [
      ...(ids[type] ?? []),
      ...lines.map((line) => String(JSON.parse(line).id)),
    ].sort();
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
