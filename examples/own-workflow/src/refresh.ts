/** What the starter, the receiver of webhooks and the workflow know of each other. */
export const TASK_QUEUE = 'appointments';
export const REFRESH_WORKFLOW = 'refreshBeforeAppointment';
/** Signal: a source of the query has ended. A hint: the workflow then looks at the query itself. */
export const SOURCE_ENDED = 'sourceEnded';

/** `refreshId` is opaque, for workflow ids are in clear text: never a name, a record number or an appointment's id. */
export const refreshWorkflowId = (refreshId: string): string => `refresh-before-appointment/${refreshId}`;

export interface RefreshInput {
  refreshId: string;
  patientId: string;
  /** ISO 8601 */
  appointmentAt: string;
  /** The sources are asked so long before the appointment. */
  hoursBefore: number;
  sources: ('hie' | 'pharmacy' | 'lab')[];
}

export interface RefreshSummary {
  requestId: string;
  /** Of the query when the workflow ended; `in-progress` when the appointment came first. */
  status: string;
  /** `refused`: the exchange did not start this source. */
  sources: { source: string; status: string }[];
  /** How many resources of each type the merged record has now. */
  resources: Record<string, number>;
}
