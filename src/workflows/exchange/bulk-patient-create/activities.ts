import { proxyActivities } from '@temporalio/workflow';
import type { BulkActivities } from '../../../activities/exchange/bulk-create.ts';

/**
 * Reading the file and writing its rows. Our own faults (the database is away, the worker was killed) are bridged for
 * about two hours; a step that is killed goes on from its last commit a few seconds later.
 */
export const fileActivities = (summary: string) =>
  proxyActivities<Pick<BulkActivities, 'checkUpload' | 'handleRows' | 'finishBulkCreate'>>({
    startToCloseTimeout: '30 minutes',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute', maximumAttempts: 120 },
    summary,
  });

/** Reading and writing the request's row: retried until it is done. */
export const rowActivities = (summary: string) =>
  proxyActivities<Pick<BulkActivities, 'lookForUpload' | 'setBulkPaused' | 'endBulkCreate'>>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '500ms', maximumInterval: '30 seconds' },
    summary,
  });
