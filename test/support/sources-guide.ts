import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { runCommand } from '../../src/lib/run-command.ts';

/** The commands of docs/sources.md that begin so, as one line each. */
export async function guide(beginning: string): Promise<string[]> {
  const text = await readFile(
    new URL('../../docs/sources.md', import.meta.url),
    'utf8',
  );
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block = '']) => block,
  );
  const lines = blocks.flatMap((block) =>
    block.replaceAll(/\\\n\s*/g, '').split('\n'),
  );
  return lines.filter((line) => line.startsWith(beginning));
}

/**
 * Runs an admin command of the guide as it stands, with its example values
 * replaced.
 */
export async function runGuideLine(
  dataDir: string,
  line: string | undefined,
  values: Record<string, string>,
  ...more: string[]
): Promise<string> {
  const filled = Object.entries(values).reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    line ?? '',
  );
  const words = [...filled.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word ?? '',
  );
  expect(words.slice(0, 4)).toEqual(['npm', 'run', 'admin', '--']);
  return runCommand(
    process.execPath,
    ['src/admin.ts', ...words.slice(4), ...more, '--data-dir', dataDir],
    { timeoutMs: 240_000 },
  );
}
