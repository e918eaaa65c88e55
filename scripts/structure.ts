import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Counts the folders that mention a field: `npm run structure`, or `npm run structure -- externalId`. By decision 0068, a
 * field of one feature should be in at most four. The starter, the simulator and the embedded stack are not counted.
 */
const ROOMS = ['contract', 'exchange', 'workflows', 'activities', 'orchestrator', 'shared'];
const FIELDS = ['intendedRecipientNpi', 'conversionType', 'dryRun'];
const SRC = fileURLToPath(new URL('../src/', import.meta.url));

const files = ROOMS.flatMap((room) =>
  readdirSync(join(SRC, room), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|js)$/.test(file))
    .map((file) => join(room, file)),
);

const named = process.argv.slice(2);
for (const field of named.length > 0 ? named : FIELDS) {
  const word = new RegExp(`\\b${field}\\b`);
  const holders = files.filter((file) => word.test(readFileSync(join(SRC, file), 'utf8')));
  const folders = [...new Set(holders.map((file) => dirname(file)))].sort();
  console.log(`${field}: ${holders.length} files in ${folders.length} folders: ${folders.join(', ')}`);
}
