/** Address of the Temporal UI, and the namespace of the work. */
export interface TemporalUiAddress {
  url: string;
  namespace: string;
}

/**
 * Address of the page of a workflow, or of a schedule, in the Temporal UI;
 * undefined where no UI is known.
 */
export const workflowLink = (
  ui: TemporalUiAddress | undefined,
  id: string,
  kind = 'workflows',
): string | undefined =>
  ui &&
  `${ui.url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(ui.namespace)}/${kind}/${encodeURIComponent(id)}`;
