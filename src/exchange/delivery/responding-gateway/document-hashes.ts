import { createHash } from 'node:crypto';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import type { ListedDocument } from '../documents/document-store.ts';

/**
 * The SHA-1 of documents in hexadecimal, by their ids. A document that was not
 * listed before is read for it.
 */
export async function sha1Of(
  { store, blobs }: { store: Pick<Store, 'asAccount'>; blobs: BlobStore },
  accountId: string,
  documents: readonly Pick<ListedDocument, 'id' | 'blobRef'>[],
): Promise<ReadonlyMap<string, string>> {
  if (documents.length === 0) return new Map();
  const known = await store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('document_sha1')
      .select(['document_id', 'sha1'])
      .where(
        'document_id',
        'in',
        documents.map(({ id }) => id),
      )
      .execute(),
  );
  const hashes = new Map(
    known.map(({ document_id, sha1 }) => [document_id, sha1]),
  );
  for (const { id, blobRef } of documents) {
    if (hashes.has(id)) continue;
    const sha1 = await hashed(await blobs.get(blobRef));
    hashes.set(id, sha1);
    await store.asAccount(accountId, (tx) =>
      tx.db
        .insertInto('document_sha1')
        .values({ document_id: id, account_id: accountId, sha1 })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }
  return hashes;
}

async function hashed(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha1');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
}
