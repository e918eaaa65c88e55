import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VARIABLES } from '../src/config.ts';
import { importsOf } from './check-imports.ts';
import { repeatedNames } from './exported-names.ts';
import { circlesAmong, type Imports } from './import-circles.ts';
import { foundTableUse, upwardUse } from './table-use.ts';
import { countTokens, countWords, type Tokens } from './tokens.ts';

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

/** JSON that others publish, or that is an example; no code of ours reads it. */
const PUBLISHED =
  /r4\/elements\.json$|ucum-atoms\.json$|examples\.json$|\.schema\.json$|(?:package|tsconfig[\w.]*)\.json$/;
/** For breathing, not a goal to shave: what others write has 5.1 to 7.1. */
const TOKENS_A_LINE_MAX = 7.2;
const COMMENT_WIDTH_MAX = 110;
/** It falls: lower it with the figure. */
const COMPLEX_MAX = 81;
/** A search for an exported name finds one thing. */
const REPEATED_NAMES_MAX = 0;
/** Temporal reads the workflow interceptors of a module under this name. */
const FIXED_NAMES: ReadonlySet<string> = new Set(['interceptors']);

const files = new Map(
  [...importsOf().keys()].map((file) => [
    file.replace(/^src\//, ''),
    readFileSync(join(ROOT, file), 'utf8'),
  ]),
);
const use = foundTableUse();
const roomsInCircles = circlesAmong(roomImports()).flat();

const sizes = sizesByPart();
const repeated = repeatedNames(productTexts(), FIXED_NAMES);

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
  [
    `comments wider than ${COMMENT_WIDTH_MAX}`,
    sum([...files.values()].map(wideComments)),
    0,
  ],
  [
    'functions of a cognitive complexity over 15',
    complexFunctions(),
    COMPLEX_MAX,
  ],
  [
    'exported names that more than one file defines',
    repeated.length,
    REPEATED_NAMES_MAX,
  ],
  ['environment variables', Object.keys(VARIABLES).length, 82],
  ['runtime dependencies', Object.keys(packageJson().dependencies).length, 40],
  ...FIELDS.map((field): [string, number, number] => [
    `folders that mention ${field}`,
    foldersOf(field).length,
    field === 'dryRun' ? 6 : 4,
  ]),
];

for (const [part, { code, others }] of sizes)
  console.log(
    `${part}: ${code.tokens} tokens of TypeScript, ${ratioOf(code).toFixed(2)} a line; ${others} of other languages`,
  );
for (const [what, figure, limit] of FIGURES)
  console.log(
    `${figure > limit ? 'TOO MANY ' : ''}${what}: ${figure} (limit ${limit})`,
  );
if (roomsInCircles.length > 0)
  console.log(`in a circle: ${roomsInCircles.join(', ')}`);
if (repeated.length > REPEATED_NAMES_MAX)
  for (const { name, files } of repeated)
    console.log(`${name}: ${files.join(', ')}`);
for (const field of process.argv.slice(2))
  console.log(`${field}: ${foldersOf(field).join(', ')}`);
const product = [...sizes]
  .filter(([part]) => part !== 'bench')
  .map(([, { code }]) => code);
const tokensALine = ratioOf({
  tokens: sum(product.map(({ tokens }) => tokens)),
  lines: sum(product.map(({ lines }) => lines)),
});
const isFull = tokensALine > TOKENS_A_LINE_MAX;
console.log(
  `tokens a line of src, tools and packages: ${tokensALine.toFixed(2)} (limit ${TOKENS_A_LINE_MAX})`,
);
if (isFull || FIGURES.some(([, figure, limit]) => figure > limit))
  process.exitCode = 1;

/**
 * The tokens of each part, a part being `src`, `tools`, `bench` or a package:
 * of its TypeScript, and of the JSON, SQL, CSS and JavaScript that it uses.
 */
function sizesByPart(): Map<string, { code: Tokens; others: number }> {
  const parts = new Map<string, { code: Tokens; others: number }>();
  const listed = execFileSync(
    'git',
    [
      'ls-files',
      '-co',
      '--exclude-standard',
      'src',
      'tools',
      'bench',
      'packages',
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  for (const file of listed.trim().split('\n')) {
    if (PUBLISHED.test(file) || /\/test\//.test(file)) continue;
    const part =
      /^(?:packages\/[^/]+|src|tools|bench)(?=\/)/.exec(file)?.[0] ?? '';
    const size = parts.get(part) ?? {
      code: { tokens: 0, lines: 0 },
      others: 0,
    };
    parts.set(part, size);
    if (file.endsWith('.ts')) {
      const { tokens, lines } = countTokens(textOf(file));
      size.code.tokens += tokens;
      size.code.lines += lines;
    } else if (/\.(?:json|[cm]?js)$/.test(file))
      size.others += countTokens(textOf(file)).tokens;
    else if (/\.(?:sql|css)$/.test(file))
      size.others += countWords(textOf(file));
  }
  return parts;
}

/** The files of `src`, `tools` and the packages, without tests. */
function productTexts(): Map<string, string> {
  return new Map(
    [...files].filter(([file]) => !/^bench\/|\/test\//.test(file)),
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(join(ROOT, file), 'utf8');
  } catch {
    // Deleted, and not committed yet.
    return '';
  }
}

function ratioOf({ tokens, lines }: Tokens): number {
  return tokens / Math.max(1, lines);
}

function wideComments(text: string): number {
  return text
    .split('\n')
    .filter(
      (line) =>
        line.length > COMMENT_WIDTH_MAX && /^\s*(?:\*|\/[/*])/.test(line),
    ).length;
}

/** Counted by the linter's rule, which is not an error by itself. */
function complexFunctions(): number {
  const rule = 'lint/complexity/noExcessiveCognitiveComplexity';
  const { stdout } = spawnSync(
    join(ROOT, 'node_modules/.bin/biome'),
    [
      'lint',
      `--only=${rule}`,
      '--reporter=json',
      '--max-diagnostics=none',
      'src',
      'tools',
      'packages',
    ],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { category?: string }[];
  };
  return diagnostics.filter(({ category }) => category === rule).length;
}

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
