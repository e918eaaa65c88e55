import type { MonitoringKind } from './cohort-monitoring.ts';
import type { SourceType } from './primitives.ts';

/**
 * Task queues, workflow types and workflow ids, shared by both services and the
 * operators' tools. Temporal stores workflow ids and types in clear text, so
 * they contain opaque ids only.
 */
export const TASK_QUEUES = {
  exchange: 'exchange',
  /** Deliveries of webhooks, which wait for receivers. */
  webhooks: 'webhooks',
  /**
   * Calls to mail servers and gateways that take messages or answers, which may
   * hang: nothing of our own waits behind them.
   */
  partners: 'partners',
  /**
   * Steps that take a processor for seconds to minutes: consolidated results.
   */
  builds: 'builds',
  /**
   * Steps on the gateways of networks: few at a time, because each waits for the
   * slowest of hundreds.
   */
  networks: 'networks',
  orchestrator: 'orchestrator',
  source: (source: SourceType) => `source-${source}` as const,
  /**
   * Queue of the background lane: the same steps for work that no caller waits
   * for, in its own processes (decision 141).
   */
  background: <Queue extends QueueOfBothLanes>(queue: Queue) =>
    `background-${queue}` as const,
} as const;

/**
 * Queues that exist twice: for work that a caller waits for, and for background
 * work.
 */
export type QueueOfBothLanes =
  | 'exchange'
  | 'builds'
  | 'networks'
  | `source-${SourceType}`;

/**
 * Temporal priority keys, 1 (most urgent) to 5: interactive work runs before
 * monitoring and bulk work.
 */
export const PRIORITY = { interactive: 2, monitoring: 4, bulk: 5 } as const;
export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** The queue of a new workflow of the exchange. */
export const laneOf = (priority: Priority) =>
  priority === PRIORITY.interactive
    ? TASK_QUEUES.exchange
    : TASK_QUEUES.background(TASK_QUEUES.exchange);

export const WORKFLOW_TYPES = {
  networkQuery: 'networkQuery',
  webhookDestination: 'webhookDestination',
  reconcileLoop: 'reconcileLoop',
  patientOnboarding: 'patientOnboarding',
  bulkPatientCreate: 'bulkPatientCreate',
  querySweep: 'querySweep',
  queryRedrive: 'queryRedrive',
  consolidatedQuery: 'consolidatedQuery',
  dischargeFollowUp: 'dischargeFollowUp',
  cohortMonitoring: 'cohortMonitoring',
  bulkOnboarding: 'bulkOnboarding',
  bulkExport: 'bulkExport',
  messageTransmission: 'messageTransmission',
  recordArrivals: 'recordArrivals',
  deferredDiscovery: 'deferredDiscovery',
  directoryRefresh: 'directoryRefresh',
  directMailbox: 'directMailbox',
  trustBundleRefresh: 'trustBundleRefresh',
} as const;

/** There is only one execution of `reconcileLoop`. */
export const RECONCILE_WORKFLOW_ID = 'reconcile';
/** There is only one execution of `recordArrivals`. */
export const RECORD_ARRIVALS_WORKFLOW_ID = 'record-arrivals';

/**
 * Custom search attributes, registered with the namespace before a worker
 * starts. They never contain personal data.
 */
export const SEARCH_ATTRIBUTES = {
  AccountId: 'Keyword',
  RequestId: 'Keyword',
  QueryStatus: 'Keyword',
  Sources: 'KeywordList',
} as const;

/**
 * Also the id of the schedule; Temporal appends the nominal time to the
 * workflow id of a scheduled run. The name of a directory is that of a network.
 */
export const directoryRefreshWorkflowId = (directory: string): string =>
  `directory-refresh/${directory}`;

/**
 * Also the id of the schedule; Temporal appends the nominal time to the
 * workflow id of a scheduled run. A bundle's name is its publisher's.
 */
export const trustBundleRefreshWorkflowId = (bundle: string): string =>
  `trust-bundle/${bundle}`;

/**
 * Also the id of the schedule; Temporal appends the nominal time to the
 * workflow id of a scheduled run.
 */
export const directMailboxWorkflowId = (accountId: string): string =>
  `direct-mailbox/${accountId}`;

/**
 * `redrive` is 0 for the query itself, and n ≥ 1 for the nth redrive after its
 * end.
 */
export function networkQueryWorkflowId(requestId: string, redrive = 0): string {
  return redrive === 0
    ? `network-query/${requestId}`
    : `network-query/${requestId}/redrive/${redrive}`;
}

export function parseNetworkQueryWorkflowId(
  workflowId: string,
): { requestId: string; redrive: number } | undefined {
  const match = /^network-query\/([0-9a-f-]{36})(?:\/redrive\/(\d+))?$/.exec(
    workflowId,
  );
  return match?.[1] === undefined
    ? undefined
    : { requestId: match[1], redrive: Number(match[2] ?? 0) };
}

export const webhookDestinationWorkflowId = (
  accountId: string,
  destinationId: string,
): string => `webhook-destination/${accountId}/${destinationId}`;

export const bulkPatientCreateWorkflowId = (requestId: string): string =>
  `bulk-patient-create/${requestId}`;
/** requestId: the bulk create whose patients are queried. */
export const querySweepWorkflowId = (requestId: string): string =>
  `query-sweep/${requestId}`;
export const queryRedriveWorkflowId = (redriveId: string): string =>
  `redrive/${redriveId}`;
export const bulkExportWorkflowId = (exportId: string): string =>
  `bulk-export/${exportId}`;
export const consolidatedQueryWorkflowId = (requestId: string): string =>
  `consolidated-query/${requestId}`;
export const dischargeFollowUpWorkflowId = (notificationId: string): string =>
  `discharge-follow-up/${notificationId}`;
export const deferredDiscoveryWorkflowId = (questionId: string): string =>
  `deferred-discovery/${questionId}`;
export const messageTransmissionWorkflowId = (messageId: string): string =>
  `message-transmission/${messageId}`;
/**
 * jobKey: derived from the caller's job id by HMAC, as in
 * `patientOnboardingWorkflowId`.
 */
export const bulkOnboardingWorkflowId = (jobKey: string): string =>
  `bulk-onboarding/${jobKey}`;
/**
 * Also the id of the schedule; Temporal appends the nominal time to the
 * workflow id of a scheduled run.
 */
export const cohortMonitoringWorkflowId = (
  cohortId: string,
  kind: MonitoringKind,
): string => `cohort-monitoring/${cohortId}/${kind}`;

/** Parses a schedule id; undefined if it is not one of cohort monitoring. */
export function parseCohortMonitoringId(
  scheduleId: string,
): { cohortId: string; kind: MonitoringKind } | undefined {
  const match = /^cohort-monitoring\/([^/]+)\/(hie|pharmacy)$/.exec(scheduleId);
  return match?.[1] === undefined
    ? undefined
    : { cohortId: match[1], kind: match[2] as MonitoringKind };
}

/**
 * jobKey: derived by HMAC from the caller's job id, which may contain a medical
 * record number (see temporal/client.ts).
 */
export const patientOnboardingWorkflowId = (jobKey: string): string =>
  `patient-onboarding/${jobKey}`;

/**
 * Metadata key of a query that holds the orchestration id, by which its
 * webhooks are assigned to the workflow.
 */
export const ORCHESTRATION_METADATA_KEY = 'orchestrationId';
