import {
  type BlobStore,
  BlobStoreUnavailableError,
} from '../../src/shared/blobs/blob-store.ts';

export interface BlobOutage {
  blobs: BlobStore;
  /**
   * While true, everything fails as it does while the storage cannot be
   * reached.
   */
  isAway: boolean;
}

/** A blob store that can go away and come back. */
export function withOutages(blobs: BlobStore): BlobOutage {
  const outage: BlobOutage = {
    isAway: false,
    blobs: {
      put: async (kind, content, contentType) => {
        if (!outage.isAway) return blobs.put(kind, content, contentType);
        // The beginning of a stream is taken before the loss is noticed.
        if (!(content instanceof Uint8Array))
          for await (const _ of content) break;
        throw away();
      },
      get: (ref) => unlessAway(() => blobs.get(ref)),
      read: (ref) => unlessAway(() => blobs.read(ref)),
      has: (ref) => unlessAway(() => blobs.has(ref)),
      getRange: (ref, start, end) =>
        unlessAway(() => blobs.getRange(ref, start, end)),
      delete: (ref) => unlessAway(() => blobs.delete(ref)),
      deleteWrittenBefore: (kind, before) =>
        unlessAway(() => blobs.deleteWrittenBefore(kind, before)),
      list: (digits) => blobs.list(digits),
    },
  };
  const away = () =>
    new BlobStoreUnavailableError(
      new Error('connect ECONNREFUSED 10.1.2.3:9000'),
    );
  const unlessAway = async <T>(work: () => Promise<T>): Promise<T> => {
    if (outage.isAway) throw away();
    return work();
  };
  return outage;
}
