import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Returns a function that appends a line to `logs/stack.log` in the data folder and passes it to `next`. */
export function createStackLog(dataDir: string, next?: (line: string) => void): (line: string) => void {
  const folder = join(dataDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return (line) => {
    // Synchronous: there are few lines, and each must be on disk before the process may end.
    appendFileSync(join(folder, 'stack.log'), `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
    next?.(line);
  };
}
