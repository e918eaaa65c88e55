import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTestFolder } from '../support/test-folder.ts';
import { type ExportDoor, startExportDoor } from './export-door.ts';

/**
 * Folder of SMART's own bulk data client
 * (github.com/smart-on-fhir/bulk-data-client), with its dependencies; it is on
 * no registry.
 */
const CLIENT = process.env.BULK_DATA_CLIENT ?? '';
const isHere = CLIENT !== '' && existsSync(join(CLIENT, 'built/app.js'));
if (!isHere)
  process.stdout.write(
    "SMART's bulk-data-client is not tried: BULK_DATA_CLIENT does not name its folder.\n",
  );
const run = promisify(execFile);

let folder: string;
let started: ExportDoor;
beforeAll(async () => {
  if (!isHere) return;
  folder = await makeTestFolder();
  // With newer versions, its HTTP library ends the process without an answer.
  await run('npm', [
    'install',
    '--prefix',
    folder,
    '--engine-strict=false',
    'node@18',
  ]);
  started = await startExportDoor(folder);
});
afterAll(async () => {
  if (!isHere) return;
  await started.door.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the client, and returns how many lines of each type it saved. */
async function fetchAll(
  name: string,
  options: string[],
): Promise<Record<string, number>> {
  const { base, clientId, privateKeys } = started;
  const config = join(folder, `${name}.config.js`);
  const destination = join(folder, name);
  const { keys } = JSON.parse(await readFile(privateKeys, 'utf8')) as {
    keys: unknown[];
  };
  const settings = {
    fhirUrl: base,
    tokenUrl: `${base}/auth/token`,
    clientId,
    privateKey: keys[0],
    destination,
    reporter: 'text',
    accessTokenLifetime: 300,
  };
  await mkdir(destination);
  await writeFile(config, `module.exports = ${JSON.stringify(settings)};`);
  const node = join(folder, 'node_modules/.bin/node');
  await run(node, [
    join(CLIENT, 'built/app.js'),
    '--config',
    config,
    ...options,
  ]);
  const counts: Record<string, number> = {};
  for (const file of await readdir(destination)) {
    const type = /^\d+\.([A-Z]\w+)\.ndjson$/.exec(file)?.[1];
    if (type === undefined) continue;
    const lines = (await readFile(join(destination, file), 'utf8'))
      .split('\n')
      .filter((line) => line !== '');
    counts[type] = (counts[type] ?? 0) + lines.length;
  }
  return counts;
}

test.runIf(isHere)(
  "SMART's bulk-data-client gets all records, by GET and by POST, and of some types alone",
  { timeout: 300_000 },
  async () => {
    const all = await fetchAll('all', ['--global']);
    expect(all.Patient).toBe(3);
    expect(all.Observation).toBeGreaterThan(100);
    expect(await fetchAll('posted', ['--global', '--post'])).toEqual(all);
    const { Patient, Condition } = all;
    expect(await fetchAll('some', ['--_type', 'Patient,Condition'])).toEqual({
      Patient,
      Condition,
    });
  },
);
