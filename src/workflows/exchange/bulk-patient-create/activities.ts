import { proxyActivities } from '@temporalio/workflow';
import type { BulkActivities } from '../../../activities/exchange/bulk-create.ts';

/**
 * The activities that read the file and process its rows. Failures on our side (the database is down, a worker was killed)
 * are retried for two days. A killed activity resumes from its last commit within seconds.
 */
export const fileActivities = (summary: string) =>
  proxyActivities<Pick<BulkActivities, 'checkUpload' | 'handleRows' | 'finishBulkCreate'>>({
    startToCloseTimeout: '30 minutes',
    scheduleToCloseTimeout: '2 days',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary,
  });

/** The activities that read and write the request's row; retried until they succeed. */
export const rowActivities = (summary: string) =>
  proxyActivities<Pick<BulkActivities, 'lookForUpload' | 'setBulkPaused' | 'endBulkCreate'>>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '500ms', maximumInterval: '30 seconds' },
    summary,
  });
