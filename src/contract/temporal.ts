import type { MonitoringKind } from './cohort-monitoring.ts';
import type { SourceType } from './primitives.ts';

/**
 * What both halves and the operators' tools know of our workflows: queues, types, ids, messages.
 * Ids and types are clear text in Temporal, so they carry opaque ids only.
 */
export const TASK_QUEUES = {
  exchange: 'exchange',
  orchestrator: 'orchestrator',
  source: (source: SourceType) => `source-${source}` as const,
} as const;

/** Lower is more urgent (1–5); interactive work overtakes sweeps and monitoring. */
export const PRIORITY = { interactive: 2, monitoring: 4, bulk: 5 } as const;

export const WORKFLOW_TYPES = {
  networkQuery: 'networkQuery',
  webhookDelivery: 'webhookDelivery',
  reconcile: 'reconcile',
  patientOnboarding: 'patientOnboarding',
  bulkPatientCreate: 'bulkPatientCreate',
  querySweep: 'querySweep',
  consolidatedQuery: 'consolidatedQuery',
  dischargeFollowUp: 'dischargeFollowUp',
  cohortMonitoring: 'cohortMonitoring',
  bulkOnboarding: 'bulkOnboarding',
  messageTransmission: 'messageTransmission',
} as const;

export const SCHEDULE_IDS = { reconcile: 'reconcile' } as const;

/** Search attributes, registered with the namespace before a worker starts. Never personal data. */
export const SEARCH_ATTRIBUTES = {
  AccountId: 'Keyword',
  RequestId: 'Keyword',
  QueryStatus: 'Keyword',
  Sources: 'KeywordList',
} as const;

/** redrive 0 is the query itself; n ≥ 1 takes up single sources after its end. */
export function networkQueryWorkflowId(requestId: string, redrive = 0): string {
  return redrive === 0 ? `network-query/${requestId}` : `network-query/${requestId}/redrive/${redrive}`;
}

export function parseNetworkQueryWorkflowId(
  workflowId: string,
): { requestId: string; redrive: number } | undefined {
  const match = /^network-query\/([0-9a-f-]{36})(?:\/redrive\/(\d+))?$/.exec(workflowId);
  return match?.[1] === undefined ? undefined : { requestId: match[1], redrive: Number(match[2] ?? 0) };
}

export const webhookDeliveryWorkflowId = (eventId: string): string => `webhook-delivery/${eventId}`;

export const bulkPatientCreateWorkflowId = (requestId: string): string => `bulk-patient-create/${requestId}`;
/** requestId: of the bulk create whose patients are queried. */
export const querySweepWorkflowId = (requestId: string): string => `query-sweep/${requestId}`;
export const consolidatedQueryWorkflowId = (requestId: string): string => `consolidated-query/${requestId}`;
export const dischargeFollowUpWorkflowId = (notificationId: string): string =>
  `discharge-follow-up/${notificationId}`;
export const messageTransmissionWorkflowId = (messageId: string): string =>
  `message-transmission/${messageId}`;
/** jobKey: HMAC-derived from the caller's job id, as for an onboarding. */
export const bulkOnboardingWorkflowId = (jobKey: string): string => `bulk-onboarding/${jobKey}`;
/** Also the schedule's id; Temporal adds the nominal time to a scheduled run's workflow id. */
export const cohortMonitoringWorkflowId = (cohortId: string, kind: MonitoringKind): string =>
  `cohort-monitoring/${cohortId}/${kind}`;

/** Of a schedule; undefined when it is another one. */
export function parseCohortMonitoringId(
  scheduleId: string,
): { cohortId: string; kind: MonitoringKind } | undefined {
  const match = /^cohort-monitoring\/([^/]+)\/(hie|pharmacy)$/.exec(scheduleId);
  return match?.[1] === undefined ? undefined : { cohortId: match[1], kind: match[2] as MonitoringKind };
}

/** jobKey: HMAC-derived from the caller's job id, which may carry a record number (see temporal/opaque-id.ts). */
export const patientOnboardingWorkflowId = (jobKey: string): string => `patient-onboarding/${jobKey}`;

/** Key of a query's metadata under which an orchestration finds its way back from a webhook. */
export const ORCHESTRATION_METADATA_KEY = 'orchestrationId';
