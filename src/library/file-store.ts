/**
 * Where the files of `bulkOnboarding` are put: the address and keys of its
 * workers.
 */

export type { FileStore } from '../orchestrator/bulk-onboarding/file-store.ts';
export { openBlobStore as openFileStore } from '../shared/blobs/open-blob-store.ts';
