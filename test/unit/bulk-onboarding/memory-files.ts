import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FileStore } from '../../../src/orchestrator/bulk-onboarding/file-store.ts';

export interface MemoryFiles extends FileStore {
  readonly stored: Map<string, Buffer>;
  textOf(ref: string | undefined): string;
}

/** A store that a test can look into. */
export function memoryFiles(): MemoryFiles {
  const stored = new Map<string, Buffer>();
  return {
    stored,
    textOf: (ref) => stored.get(ref ?? '')?.toString('utf8') ?? '',
    async put(kind, content, contentType) {
      const bytes = await buffer(content);
      const ref = `${kind}/${randomUUID().replaceAll('-', '')}`;
      stored.set(ref, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { ref, sha256, sizeBytes: bytes.length, contentType };
    },
    async get(ref) {
      const bytes = stored.get(ref);
      if (bytes === undefined)
        throw Object.assign(new Error('no such blob'), {
          name: 'BlobNotFoundError',
        });
      return Readable.from([bytes], { objectMode: false });
    },
    async getRange(ref, start, end) {
      return (stored.get(ref) ?? Buffer.alloc(0)).subarray(start, end);
    },
    async delete(ref) {
      stored.delete(ref);
    },
    async deleteWrittenBefore() {},
  };
}
