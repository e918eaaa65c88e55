/**
 * Names and types that the starter, the webhook receiver and the workflow
 * share.
 */
export const TASK_QUEUE = 'appointments';
export const REFRESH_WORKFLOW = 'refreshBeforeAppointment';
/**
 * Signal: a source of the query has ended. Only a hint: the workflow then reads
 * the query itself.
 */
export const SOURCE_ENDED = 'sourceEnded';

/**
 * `refreshId` must be opaque, because workflow ids are in clear text: never a
 * name, a record number or an appointment id.
 */
export const refreshWorkflowId = (refreshId: string): string =>
  `refresh-before-appointment/${refreshId}`;

export interface RefreshInput {
  refreshId: string;
  patientId: string;
  /** ISO 8601 */
  appointmentAt: string;
  /** How long before the appointment the sources are queried. */
  hoursBefore: number;
  sources: ('hie' | 'pharmacy' | 'lab')[];
}

export interface RefreshSummary {
  requestId: string;
  /**
   * The query's status when the workflow ended; `in-progress` if the
   * appointment came first.
   */
  status: string;
  /** `refused`: the exchange did not start this source. */
  sources: { source: RefreshInput['sources'][number]; status: string }[];
  /** Number of resources of each type in the merged record. */
  resources: Record<string, number>;
}
