import { sleep } from '@temporalio/workflow';
import * as workflows from '../../src/workflows/index.ts';

/**
 * Our workflows as a careless change would leave them: one step more than the
 * recorded runs took. Replay must reject each of them, else it would not notice
 * a real mistake either.
 */
export const bulkExport = withOneStepMore(workflows.bulkExport);
export const bulkOnboarding = withOneStepMore(workflows.bulkOnboarding);
export const bulkPatientCreate = withOneStepMore(workflows.bulkPatientCreate);
export const consolidatedQuery = withOneStepMore(workflows.consolidatedQuery);
export const cohortMonitoring = withOneStepMore(workflows.cohortMonitoring);
export const deferredDiscovery = withOneStepMore(workflows.deferredDiscovery);
export const directMailbox = withOneStepMore(workflows.directMailbox);
export const directoryRefresh = withOneStepMore(workflows.directoryRefresh);
export const dischargeFollowUp = withOneStepMore(workflows.dischargeFollowUp);
export const messageTransmission = withOneStepMore(
  workflows.messageTransmission,
);
export const networkQuery = withOneStepMore(workflows.networkQuery);
export const patientOnboarding = withOneStepMore(workflows.patientOnboarding);
export const queryRedrive = withOneStepMore(workflows.queryRedrive);
export const querySweep = withOneStepMore(workflows.querySweep);
export const recordArrivals = withOneStepMore(workflows.recordArrivals);
export const reconcileLoop = withOneStepMore(workflows.reconcileLoop);
export const trustBundleRefresh = withOneStepMore(workflows.trustBundleRefresh);
export const webhookDestination = withOneStepMore(workflows.webhookDestination);

function withOneStepMore<A extends unknown[], R>(
  workflow: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  const changed = async (...args: A) => {
    await sleep('1 second');
    return workflow(...args);
  };
  // Pinned, or not.
  return Object.assign(changed, {
    workflowDefinitionOptions: Reflect.get(
      workflow,
      'workflowDefinitionOptions',
    ),
  });
}
