import { BlobStoreUnavailableError } from './blob-store.ts';

/** No connection, or it broke. */
const NETWORK =
  /^(ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH)$/;
/** The disk is full, read-only, broken or no longer mounted, or this process has too many files open. */
const DISK = /^(ENOSPC|EDQUOT|EROFS|EIO|ESTALE|ENOTCONN|EMFILE|ENFILE)$/;

/** Returns BlobStoreUnavailableError if the error means that the storage is away or cannot work now; else the error itself. */
export const asOutage = (error: unknown): unknown =>
  isOutage(error) ? new BlobStoreUnavailableError(error) : error;

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof BlobStoreUnavailableError) return false;
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  // 429 and 503: it wants fewer requests. 409: another request for the same object was under way.
  if (status !== undefined) return status >= 500 || status === 429 || status === 409;
  return (
    error.name === 'TimeoutError' || (typeof code === 'string' && (NETWORK.test(code) || DISK.test(code)))
  );
}

/** Passes on what a storage delivers; its outages become BlobStoreUnavailableError. */
export async function* reporting<T>(delivered: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* delivered;
  } catch (error) {
    throw asOutage(error);
  }
}
