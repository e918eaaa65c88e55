import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { AdminError } from './command.ts';

/**
 * Reads a secret from a file, or from stdin for `-`. Secrets are never taken from arguments: other users of the machine can
 * read those, and shells remember them.
 */
export async function readSecret(option: string, path: string): Promise<string> {
  const content = path === '-' ? await text(process.stdin) : await readFileOf(option, path);
  const secret = content.trim();
  if (secret === '') throw new AdminError(`${option}: ${path === '-' ? 'stdin' : path} is empty`);
  return secret;
}

async function readFileOf(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new AdminError(`${option}: ${path} cannot be read; give a file, or - for stdin`);
  }
}
