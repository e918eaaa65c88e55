import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VARIABLES } from '../src/config.ts';
import { importsOf } from './check-imports.ts';
import { circlesAmong, type Imports } from './import-circles.ts';
import { foundTableUse, upwardUse } from './table-use.ts';

/**
 * Measures what grows unnoticed, and fails above a limit: `npm run structure`,
 * also part of `npm run check`. Lower a limit when its figure has fallen; raise
 * one only with a reason in the commit. `npm run structure -- externalId` also
 * lists the folders that mention a field.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/**
 * A field of one feature is in at most four of these folders (decision 0068).
 */
const FIELD_ROOTS = [
  'contract/',
  'exchange/',
  'workflows/',
  'activities/',
  'orchestrator/',
  'shared/',
];
const FIELDS = ['intendedRecipientNpi', 'conversionType', 'dryRun'];

const files = new Map(
  [...importsOf().keys()].map((file) => [
    file.replace(/^src\//, ''),
    readFileSync(join(ROOT, file), 'utf8'),
  ]),
);
const use = foundTableUse();
const roomsInCircles = circlesAmong(roomImports()).flat();

const FIGURES: readonly [what: string, figure: number, limit: number][] = [
  [
    'rooms of the exchange that import each other in a circle',
    roomsInCircles.length,
    0,
  ],
  [
    'tables named by the SQL of other rooms',
    sum(Object.values(use).map(countTables)),
    98,
  ],
  ['tables named by the SQL of lower districts', upwardUse(use).length, 8],
  ['environment variables', Object.keys(VARIABLES).length, 80],
  ['runtime dependencies', Object.keys(packageJson().dependencies).length, 49],
  ...FIELDS.map((field): [string, number, number] => [
    `folders that mention ${field}`,
    foldersOf(field).length,
    field === 'dryRun' ? 6 : 4,
  ]),
];

for (const [what, figure, limit] of FIGURES)
  console.log(
    `${figure > limit ? 'TOO MANY ' : ''}${what}: ${figure} (limit ${limit})`,
  );
if (roomsInCircles.length > 0)
  console.log(`in a circle: ${roomsInCircles.join(', ')}`);
for (const field of process.argv.slice(2))
  console.log(`${field}: ${foldersOf(field).join(', ')}`);
if (FIGURES.some(([, figure, limit]) => figure > limit)) process.exitCode = 1;

/**
 * The rooms of the exchange, and the rooms that each imports. A file directly
 * in a district counts as a room.
 */
function roomImports(): Imports {
  const rooms = new Map<string, string[]>();
  for (const [file, imported] of importsOf()) {
    const room = roomOf(file);
    if (room === undefined) continue;
    const others = imported
      .map(roomOf)
      .filter((other) => other !== undefined && other !== room);
    rooms.set(room, [
      ...new Set([...(rooms.get(room) ?? []), ...(others as string[])]),
    ]);
  }
  return rooms;
}

function roomOf(file: string): string | undefined {
  const [src, root, district, room] = file.split('/');
  if (src !== 'src' || root !== 'exchange' || room === undefined)
    return undefined;
  return `${district}/${room}`;
}

function foldersOf(field: string): string[] {
  const word = new RegExp(`\\b${field}\\b`);
  const holders = [...files].filter(
    ([file, text]) =>
      FIELD_ROOTS.some((root) => file.startsWith(root)) && word.test(text),
  );
  return [...new Set(holders.map(([file]) => dirname(file)))].sort();
}

function countTables(owners: Record<string, string[]>): number {
  return sum(Object.values(owners).map((tables) => tables.length));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function packageJson(): { dependencies: object } {
  return JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  );
}
