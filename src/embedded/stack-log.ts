import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the supervisor's lines to `logs/stack.log` of the data folder and hands them on. */
export function createStackLog(dataDir: string, next?: (line: string) => void): (line: string) => void {
  const folder = join(dataDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return (line) => {
    // Few lines, each worth being on disk before the next thing happens.
    appendFileSync(join(folder, 'stack.log'), `${new Date().toISOString()} ${line}\n`, { mode: 0o600 });
    next?.(line);
  };
}
