import {
  createFileTransfer,
  type FileTransfer,
} from '../../orchestrator/client/file-transfer.ts';

const STALL_MS = 60_000;

/**
 * Downloads from links that the exchange returned. A link is signed, so no API
 * key is sent with it.
 */
export const createDownloads = (): Pick<FileTransfer, 'download'> =>
  createFileTransfer({
    stallMs: STALL_MS,
    // Records and documents may be saved as HTML.
    acceptsHtml: true,
    credential: () =>
      Promise.reject(new Error('a download needs no credential')),
  });
