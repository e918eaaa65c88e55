import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { z } from 'zod';

/** Reads and checks a small JSON file; undefined when it is not there. Throws, naming the file, when it is damaged. */
export async function readJsonFile<S extends z.ZodType>(
  path: string,
  schema: S,
): Promise<z.output<S> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = schema.safeParse(jsonOrUndefined(text));
  // The reasons are left out: they could quote what the file holds.
  if (!parsed.success) throw new Error(`${path} is damaged or of another version.`);
  return parsed.data;
}

/** Writes the file whole or not at all, readable by its owner only. */
export async function writeJsonFile(path: string, content: unknown): Promise<void> {
  const incoming = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(incoming, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flush: true });
  await rename(incoming, path);
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
