import { setWorkflowOptions } from '@temporalio/workflow';
import { bulkPatientCreate } from './exchange/bulk-patient-create/workflow.ts';
import { consolidatedQuery } from './exchange/consolidated-query/workflow.ts';
import { messageTransmission } from './exchange/message-transmission/workflow.ts';
import { networkQuery } from './exchange/network-query/workflow.ts';
import { queryRedrive } from './exchange/query-redrive/workflow.ts';
import { querySweep } from './exchange/query-sweep/workflow.ts';
import { isVersioned } from './shared/own-run.ts';

/**
 * Every function exported here is a workflow type. Its name must match
 * `WORKFLOW_TYPES` in contract/temporal.ts.
 */
export { bulkExport } from './exchange/bulk-export/workflow.ts';
export { bulkPatientCreate } from './exchange/bulk-patient-create/workflow.ts';
export { consolidatedQuery } from './exchange/consolidated-query/workflow.ts';
export { deferredDiscovery } from './exchange/deferred-discovery/workflow.ts';
export { directMailbox } from './exchange/direct-mailbox/workflow.ts';
export { directoryRefresh } from './exchange/directory-refresh/workflow.ts';
export { dischargeFollowUp } from './exchange/discharge-follow-up/workflow.ts';
export { messageTransmission } from './exchange/message-transmission/workflow.ts';
export { networkQuery } from './exchange/network-query/workflow.ts';
export { queryRedrive } from './exchange/query-redrive/workflow.ts';
export { querySweep } from './exchange/query-sweep/workflow.ts';
export { reconcileLoop } from './exchange/reconcile-loop/workflow.ts';
export { recordArrivals } from './exchange/record-arrivals/workflow.ts';
export { webhookDestination } from './exchange/webhook-destination/workflow.ts';
export { bulkOnboarding } from './orchestrator/bulk-onboarding/workflow.ts';
export { cohortMonitoring } from './orchestrator/cohort-monitoring/workflow.ts';
export { patientOnboarding } from './orchestrator/patient-onboarding/workflow.ts';

/**
 * With Worker Versioning, a run of these types stays with the build that it
 * began with, until it ends or continues as new: long ones do that soon after
 * another build has become current (shared/own-run.ts). The others go on with
 * the current build, so their changes need `patched`. Decision 71.
 */
for (const workflow of [
  networkQuery,
  bulkPatientCreate,
  querySweep,
  queryRedrive,
  consolidatedQuery,
  messageTransmission,
])
  setWorkflowOptions<never[], unknown>(
    () => (isVersioned() ? { versioningBehavior: 'PINNED' } : {}),
    workflow,
  );

export { trustBundleRefresh } from './exchange/trust-bundle-refresh/workflow.ts';
