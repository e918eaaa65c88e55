import { parentPort } from 'node:worker_threads';
import { readerNamed } from './readers.ts';

export interface ReaderJob {
  reader: string;
  bytes: Uint8Array;
}

/** undefined: read or refused. Otherwise the error that no reader may throw. */
export type ReaderAnswer = { fault?: string };

console.warn = () => undefined;
parentPort?.on('message', async ({ reader, bytes }: ReaderJob) => {
  parentPort?.postMessage(await answer(reader, Buffer.from(bytes)));
});

async function answer(name: string, bytes: Buffer): Promise<ReaderAnswer> {
  const { read, refusals } = readerNamed(name) ?? {};
  try {
    await read?.(bytes);
    return {};
  } catch (error) {
    if (refusals?.some((refusal) => error instanceof refusal)) return {};
    return {
      fault:
        error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
