import { ApplicationFailure } from '@temporalio/activity';
import { v7 as uuidv7 } from 'uuid';
import type {
  DirectoryLoaded,
  DirectoryRefreshInput,
} from '../../contract/directory-refresh-workflow.ts';
import type { Platform } from '../../exchange/platform/platform.ts';
import { findDirectory } from '../../exchange/sources/directory/directory-store.ts';
import { loadDirectory } from '../../exchange/sources/directory/load-directory.ts';
import { originOf } from '../../exchange/sources/directory/origin-secret.ts';
import { OriginUnreadable } from '../../exchange/sources/directory/read-origin.ts';
import { withHeartbeat } from './heartbeat.ts';

export type DirectoryActivities = ReturnType<typeof createDirectoryActivities>;

const HEARTBEAT_EVERY_MS = 10_000;

export const createDirectoryActivities = ({
  store,
  keyRing,
}: Pick<Platform, 'store' | 'keyRing'>) => ({
  /** Reads a directory from its origin; a later try begins anew. */
  loadDirectory: ({
    directory: name,
  }: DirectoryRefreshInput): Promise<DirectoryLoaded> =>
    withHeartbeat(
      { everyMs: HEARTBEAT_EVERY_MS, toFailure: describeUnreadable },
      async (signal) => {
        const directory = await store.asSystem((tx) => findDirectory(tx, name));
        const origin = directory && originOf(keyRing, directory);
        if (origin === undefined)
          throw ApplicationFailure.nonRetryable(
            'The directory was deleted, or is no longer refreshed',
          );
        const { counts, kept } = await loadDirectory(
          { store },
          { directory: name, loadId: uuidv7() },
          origin,
          signal,
        );
        return kept === undefined ? counts : { ...counts, kept };
      },
    ),
});

const describeUnreadable = (error: unknown): unknown =>
  error instanceof OriginUnreadable
    ? ApplicationFailure.create({
        message: `The directory cannot be loaded: ${error.message}`,
        nonRetryable: !error.mayPass,
      })
    : error;
