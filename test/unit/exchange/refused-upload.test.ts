import { expect, test } from 'vitest';
import { createUploadReceiver } from '../../../src/exchange/people/bulk-create/service.ts';

type Deps = Parameters<typeof createUploadReceiver>[0];

/** A gateway whose transactions fail once the file is stored. */
async function deletedAfter(error: Error): Promise<string[]> {
  const deleted: string[] = [];
  let isStored = false;
  const receiver = createUploadReceiver({
    store: {
      asAccount: async () => {
        if (isStored) throw error;
      },
    },
    blobs: {
      put: async () => {
        isStored = true;
        return { ref: 'upload/1', sha256: '', sizeBytes: 3, contentType: '' };
      },
      delete: async (ref: string) => void deleted.push(ref),
    },
    logger: { warn: () => undefined },
  } as unknown as Deps);
  const body = (async function* () {
    yield Buffer.from('a,b');
  })();
  const of = { accountId: 'a', requestId: 'r' };
  await expect(receiver.receive(of, body, async () => undefined)).rejects.toBe(
    error,
  );
  return deleted;
}

test('a file that PostgreSQL refuses, because its disk is full, is deleted at once', async () => {
  const full = Object.assign(new Error('disk full'), { code: '53100' });
  expect(await deletedAfter(full)).toEqual(['upload/1']);
});

test.each(['57P01', '08006', 'ECONNRESET'])(
  'a file of which nobody can say whether it was accepted (%s) stays',
  async (code) => {
    const gone = Object.assign(new Error('gone'), { code });
    expect(await deletedAfter(gone)).toEqual([]);
  },
);
