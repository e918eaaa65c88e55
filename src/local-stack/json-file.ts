import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { z } from 'zod';

/**
 * Reads and validates a small JSON file. Returns undefined when it does not
 * exist; throws with its path when it is invalid.
 */
export async function readJsonFile<S extends z.ZodType>(
  path: string,
  schema: S,
): Promise<z.output<S> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return undefined;
    throw error;
  }
  const parsed = schema.safeParse(jsonOrUndefined(text));
  // Without the reasons: they could quote the content of the file.
  if (!parsed.success)
    throw new Error(
      `${path} is damaged, or was written by another version. Restore it from a backup.`,
    );
  return parsed.data;
}

/** Writes the file completely or not at all, readable by the owner only. */
export async function writeJsonFile(
  path: string,
  content: unknown,
): Promise<void> {
  const incoming = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(incoming, `${JSON.stringify(content, undefined, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  await rename(incoming, path);
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
