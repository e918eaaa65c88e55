/**
 * For workflow code: calls of the interface (`proxyEndpoints`), the reason of a failed call (`callFailure`), and our own
 * workflows. Re-export `patientOnboarding` from your workflows file to run it on your worker. The other workflows need more
 * than the interface: run them as child workflows on `TASK_QUEUES.orchestrator`, which our worker serves.
 */

export type { bulkOnboarding } from '../workflows/orchestrator/bulk-onboarding/workflow.ts';
export type { cohortMonitoring } from '../workflows/orchestrator/cohort-monitoring/workflow.ts';
export { proxyEndpoints } from '../workflows/orchestrator/endpoint-proxies.ts';
export { patientOnboarding } from '../workflows/orchestrator/patient-onboarding/workflow.ts';
export { type CallFailure, callFailure } from '../workflows/shared/failures.ts';
