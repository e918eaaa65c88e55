import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

interface Messages {
  signals: string[];
  queries: string[];
  updates: string[];
}

/** `workflows/index.ts` exports each workflow from its folder. */
function workflowFolders(): Map<string, string> {
  const index = readFileSync(join(ROOT, 'src/workflows/index.ts'), 'utf8');
  const exports = [
    ...index.matchAll(/export \{ (\w+) \} from '\.\/(.+)\/workflow\.ts'/g),
  ];
  return new Map(exports.map(([, name = '', folder = '']) => [name, folder]));
}

function messagesInCode(folder: string): Messages {
  const path = join(ROOT, 'src/workflows', folder);
  const text = readdirSync(path)
    .map((file) => readFileSync(join(path, file), 'utf8'))
    .join('\n');
  const defined = (kind: string) =>
    [
      ...text.matchAll(
        new RegExp(`define${kind}(?:<[^;]*?>)?\\(\\s*\\w+\\.(\\w+)`, 'g'),
      ),
    ]
      .map(([, name = '']) => name)
      .sort();
  return {
    signals: defined('Signal'),
    queries: defined('Query'),
    updates: defined('Update'),
  };
}

function messagesInCatalogue(): Map<string, Messages> {
  const names = (cell = '') =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name).sort();
  const rows = readFileSync(join(ROOT, 'docs/workflows.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return new Map(
    rows.map((cells) => [
      names(cells[1])[0] ?? '',
      {
        signals: names(cells[5]),
        queries: names(cells[6]),
        updates: names(cells[7]),
      },
    ]),
  );
}

test('docs/workflows.md lists every workflow with the signals, queries and updates that its code handles', () => {
  const inCode = new Map(
    [...workflowFolders()].map(([name, folder]) => [
      name,
      messagesInCode(folder),
    ]),
  );
  expect(inCode.size).toBeGreaterThan(10);
  expect(inCode.get('networkQuery')?.updates).toContain('retrySource');
  expect(Object.fromEntries(messagesInCatalogue())).toEqual(
    Object.fromEntries(inCode),
  );
});
