import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const EXTENDS = /\b(?:base|\w*[tT]est)\s*\.extend\(/;

const files = ['test', 'bench', 'tools', 'scripts'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(ROOT, folder, file)),
);
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
const hasFixtures = (file: string) => EXTENDS.test(texts.get(file) ?? '');
const importsOf = (file: string) =>
  [
    ...(texts.get(file) ?? '').matchAll(
      /^(?:import|export|\}) .*from '(\.[^']+)';$/gm,
    ),
  ].map(([, path = '']) => resolve(dirname(file), path));

/** The file, and all that it imports, directly or not. */
function reachedFrom(
  file: string,
  reached = new Set<string>(),
): ReadonlySet<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const path of importsOf(file)) reachedFrom(path, reached);
  return reached;
}

test('no program imports fixtures: outside of a test run vitest refuses them, and a program that a test starts would end', () => {
  const imported = new Set(files.flatMap(importsOf));
  const programs = files.filter(
    (file) => !file.endsWith('.test.ts') && !imported.has(file),
  );
  expect(programs).toContain(join(ROOT, 'test/store/dying-announcer.ts'));
  const found = programs.flatMap((file) =>
    [...reachedFrom(file)]
      .filter(hasFixtures)
      .map((path) => `${file} imports ${path}`.replaceAll(ROOT, '')),
  );
  expect(found).toEqual([]);
});
