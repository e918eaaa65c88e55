/** Where the Temporal UI is, and the namespace it shows. */
export interface TemporalUi {
  url: string;
  namespace: string;
}

/** The page of a workflow in the Temporal UI. */
export const workflowLink = (ui: TemporalUi, workflowId: string): string =>
  `${ui.url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(ui.namespace)}/workflows/${encodeURIComponent(workflowId)}`;

/** The page of a schedule in the Temporal UI. */
export const scheduleLink = (ui: TemporalUi, scheduleId: string): string =>
  `${ui.url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(ui.namespace)}/schedules/${encodeURIComponent(scheduleId)}`;
