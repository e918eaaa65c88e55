import type { Client } from '@temporalio/client';
import { UPLOAD_URL_MINUTES } from '../../../contract/bulk-create.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import { type BulkControl, createBulkControl } from './control.ts';
import { type BulkLauncher, createBulkLauncher } from './launcher.ts';
import { createUploadReceiver, type UploadReceiver } from './receive-upload.ts';

export const UPLOAD_LIFETIME_MS = UPLOAD_URL_MINUTES * 60_000;

/** The bulk create operations of the gateway. */
export interface BulkCreateService extends BulkControl {
  /** Starts the workflow of a committed request in the background. */
  launch: BulkLauncher['launch'];
  /** Stores the CSV. Call `announceUpload` afterwards. */
  receiveUpload: UploadReceiver['receive'];
  announceUpload: BulkLauncher['announceUpload'];
  /** Resolves when all background work has finished. */
  drain(): Promise<void>;
}

export function createBulkCreateService(deps: {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
  /** How long a caller waits for a running workflow to accept a command. */
  commandTimeoutMs?: number;
}): BulkCreateService & { launcher: BulkLauncher } {
  const launcher = createBulkLauncher(deps);
  return {
    launcher,
    launch: launcher.launch,
    announceUpload: launcher.announceUpload,
    receiveUpload: createUploadReceiver(deps).receive,
    drain: launcher.drain,
    ...createBulkControl({ ...deps, launcher }),
  };
}
