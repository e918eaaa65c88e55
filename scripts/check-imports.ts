import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { circleIn, type Imports } from './import-circles.ts';
import { type Manifest, refusal, undeclared } from './import-rules.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const IMPORT =
  /^(?:import|export) (?:type )?(?:(?:\w+|\*(?: as \w+)?|\{[^}]*\}) from )?'([^']+)'|\bimport\('([^']+)'\)/gm;
const IN_A_PACKAGE = /^packages\/[\w-]+\//;
/** What a package has built, and what it has installed. */
const NOT_OURS = /^[\w-]+\/(?:dist|node_modules)\//;

/**
 * Checks all imports in `src`, `tools`, `bench` and `packages` against
 * scripts/import-rules.ts. Returns one line for each violation.
 */
export function refusedImports(folder = ROOT): string[] {
  return filesIn(folder).flatMap((file) =>
    specifiersIn(folder, file).flatMap((specifier) => {
      const isPackage = !specifier.startsWith('.');
      const imported = isPackage ? specifier : resolved(file, specifier);
      const why =
        refusal(
          withoutSrc(file),
          isPackage ? imported : withoutSrc(imported),
          isPackage,
        ) ??
        (isPackage && IN_A_PACKAGE.test(file)
          ? undeclared(file, imported, manifestOf(folder, file))
          : undefined);
      return why === undefined ? [] : [`${file} imports ${specifier}. ${why}`];
    }),
  );
}

/**
 * The files of `src`, `tools`, `bench` and `packages` that import each other in a
 * circle, in order; empty if there is none.
 */
export const importCircle = (folder = ROOT): string[] =>
  circleIn(importsOf(folder)) ?? [];

/**
 * File by file of `src`, `tools`, `bench` and `packages`, the files that it
 * imports, for types too.
 */
export const importsOf = (folder = ROOT): Imports =>
  new Map(
    filesIn(folder).map((file) => [
      file,
      specifiersIn(folder, file)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolved(file, specifier)),
    ]),
  );

const filesIn = (folder: string): string[] =>
  ['src', 'tools', 'bench', 'packages'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !NOT_OURS.test(file))
      .map((file) => join(part, file)),
  );

const specifiersIn = (folder: string, file: string): string[] =>
  [...readFileSync(join(folder, file), 'utf8').matchAll(IMPORT)].map(
    ([, named, loaded]) => named ?? loaded ?? '',
  );

/** The package.json of the package that a file of `packages` belongs to. */
function manifestOf(folder: string, file: string): Manifest {
  const [packages = '', name = ''] = file.split('/');
  return JSON.parse(
    readFileSync(join(folder, packages, name, 'package.json'), 'utf8'),
  );
}

/** Paths below `src` are named without it, as in the rules. */
const withoutSrc = (path: string): string => path.replace(/^src\//, '');

const resolved = (file: string, specifier: string): string =>
  normalize(join(dirname(file), specifier));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const refused = refusedImports();
  for (const line of refused) console.error(line);
  const circle = importCircle();
  if (circle.length > 0)
    console.error(
      `These files import each other in a circle: ${circle.join(' → ')}`,
    );
  process.exitCode = refused.length + circle.length > 0 ? 1 : 0;
}
