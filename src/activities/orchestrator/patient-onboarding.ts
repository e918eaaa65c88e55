import { activityInfo, getClient } from '@temporalio/activity';
import { isGrpcServiceError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';

/** Codes of gRPC. */
const NOT_FOUND = 5;
/**
 * What does not pass by itself: a permission is missing, or the server does not
 * have the operation.
 */
const FOR_GOOD = [7, 12];

export const patientOnboardingActivities = {
  /**
   * Deletes an earlier run of the calling workflow from Temporal, with its
   * history. One that is gone is no error.
   */
  async forgetRun({ runId }: { runId: string }): Promise<void> {
    const client = getClient();
    const { workflowId = '' } = activityInfo().workflowExecution ?? {};
    try {
      await client.workflowService.deleteWorkflowExecution({
        namespace: client.options.namespace,
        workflowExecution: { workflowId, runId },
      });
    } catch (error) {
      const code = isGrpcServiceError(error) ? error.code : undefined;
      if (code === NOT_FOUND) return;
      if (code === undefined || !FOR_GOOD.includes(code)) throw error;
      throw ApplicationFailure.nonRetryable(
        'Temporal does not let this worker delete histories',
        'rejected',
      );
    }
  },
};

export type PatientOnboardingActivities = typeof patientOnboardingActivities;
