import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { circleIn, type Imports } from './import-circles.ts';
import { refusal } from './import-rules.ts';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));
const IMPORT =
  /^(?:import|export) (?:type )?(?:(?:\w+|\*(?: as \w+)?|\{[^}]*\}) from )?'([^']+)';|\bimport\('([^']+)'\)/gm;

/** Checks all imports in `src` against scripts/import-rules.ts. Returns one line for each violation. */
export function refusedImports(folder = SRC): string[] {
  return filesIn(folder).flatMap((file) =>
    specifiersIn(folder, file).flatMap((specifier) => {
      const isPackage = !specifier.startsWith('.');
      const imported = isPackage ? specifier : resolved(file, specifier);
      const why = refusal(file, imported, isPackage);
      return why === undefined ? [] : [`src/${file} imports ${specifier}. ${why}`];
    }),
  );
}

/** The files of `src` that import each other in a circle, in order; empty if there is none. */
export const importCircle = (folder = SRC): string[] => circleIn(importsOf(folder)) ?? [];

/** File by file of `src`, the files that it imports, for types too. */
export const importsOf = (folder = SRC): Imports =>
  new Map(
    filesIn(folder).map((file) => [
      file,
      specifiersIn(folder, file)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolved(file, specifier)),
    ]),
  );

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

const specifiersIn = (folder: string, file: string): string[] =>
  [...readFileSync(join(folder, file), 'utf8').matchAll(IMPORT)].map(
    ([, named, loaded]) => named ?? loaded ?? '',
  );

const resolved = (file: string, specifier: string): string => normalize(join(dirname(file), specifier));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const refused = refusedImports();
  for (const line of refused) console.error(line);
  const circle = importCircle();
  if (circle.length > 0) console.error(`These files import each other in a circle: ${circle.join(' → ')}`);
  process.exitCode = refused.length + circle.length > 0 ? 1 : 0;
}
