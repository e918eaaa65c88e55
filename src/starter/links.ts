/** Address of the Temporal UI, and the namespace of the work. */
export interface TemporalUi {
  url: string;
  namespace: string;
}

/** Address of a workflow's page in the Temporal UI. */
export const workflowLink = (ui: TemporalUi, workflowId: string): string =>
  `${ui.url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(ui.namespace)}/workflows/${encodeURIComponent(workflowId)}`;

/** Address of a schedule's page in the Temporal UI. */
export const scheduleLink = (ui: TemporalUi, scheduleId: string): string =>
  `${ui.url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(ui.namespace)}/schedules/${encodeURIComponent(scheduleId)}`;
