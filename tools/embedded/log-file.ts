import { open, stat } from 'node:fs/promises';

const TAIL_BYTES = 16_384;

/** Size in bytes; 0 when the file does not exist. */
export const fileSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

/** Returns the last matching line among those written since `start` (a position in bytes). At most the last 16 KB are read. */
export async function findLogLine(path: string, start: number, pattern: RegExp): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const from = Math.max(start, size - TAIL_BYTES, 0);
    const tail = Buffer.alloc(Math.max(size - from, 0));
    await file.read(tail, 0, tail.length, from);
    return tail
      .toString('utf8')
      .split('\n')
      .findLast((line) => pattern.test(line))
      ?.trim();
  } finally {
    await file.close();
  }
}
