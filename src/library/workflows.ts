/**
 * For workflow code: calls of the interface (`proxyEndpoints`), the reason of a
 * failed call (`callFailure`), and our own workflows: re-export them from your
 * workflows file to run them on your worker. Their signals, queries and updates
 * are objects, for workflows and clients.
 */

export {
  bulkOnboarding,
  bulkOnboardingMessages,
} from '../workflows/orchestrator/bulk-onboarding/workflow.ts';
export {
  cohortMonitoring,
  cohortMonitoringMessages,
} from '../workflows/orchestrator/cohort-monitoring/workflow.ts';
export { proxyEndpoints } from '../workflows/orchestrator/endpoint-proxies.ts';
export {
  patientOnboarding,
  patientOnboardingMessages,
} from '../workflows/orchestrator/patient-onboarding/workflow.ts';
export { type CallFailure, callFailure } from '../workflows/shared/failures.ts';
