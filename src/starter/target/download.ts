import { createFileTransfer, type FileTransfer } from '../../orchestrator/client/file-transfer.ts';

const STALL_MS = 60_000;

/** Fetches what links of an exchange lead to. A link carries its own authority: no key goes with it. */
export const createDownloads = (): Pick<FileTransfer, 'download'> =>
  createFileTransfer({
    stallMs: STALL_MS,
    credential: () => Promise.reject(new Error('a download needs no credential')),
  });
