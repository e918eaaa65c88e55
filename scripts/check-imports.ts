import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal } from './import-rules.ts';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));
const IMPORT =
  /^(?:import|export) (?:type )?(?:(?:\w+|\*(?: as \w+)?|\{[^}]*\}) from )?'([^']+)';|\bimport\('([^']+)'\)/gm;

/** Checks all imports in `src` against scripts/import-rules.ts. Returns one line for each violation. */
export function refusedImports(folder = SRC): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(IMPORT)].flatMap(([, named, loaded]) => {
        const specifier = named ?? loaded ?? '';
        const isPackage = !specifier.startsWith('.');
        const imported = isPackage ? specifier : normalize(join(dirname(file), specifier));
        const why = refusal(file, imported, isPackage);
        return why === undefined ? [] : [`src/${file} imports ${specifier}. ${why}`];
      }),
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const refused = refusedImports();
  for (const line of refused) console.error(line);
  process.exitCode = refused.length > 0 ? 1 : 0;
}
