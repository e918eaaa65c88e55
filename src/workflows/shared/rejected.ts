import { ApplicationFailure } from '@temporalio/workflow';

/** The failure with which an update is rejected because the workflow's state does not allow it. */
export const rejected = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'Rejected');
