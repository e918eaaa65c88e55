/**
 * For workflow code: the calls of the interface (`proxyEndpoints`), why one failed (`callFailure`), and our own workflows.
 * `patientOnboarding` may be exported again from your workflows, to run on your worker. The others need more than the
 * interface: run them as child workflows on `TASK_QUEUES.orchestrator`, where our worker serves them.
 */

export type { bulkOnboarding } from '../workflows/orchestrator/bulk-onboarding/workflow.ts';
export type { cohortMonitoring } from '../workflows/orchestrator/cohort-monitoring/workflow.ts';
export { proxyEndpoints } from '../workflows/orchestrator/endpoint-proxies.ts';
export { patientOnboarding } from '../workflows/orchestrator/patient-onboarding/workflow.ts';
export { type CallFailure, callFailure } from '../workflows/shared/call-failure.ts';
