/** Address of the Temporal UI, and the namespace of the work. */
export interface TemporalUi {
  url: string;
  namespace: string;
}

/** Address of the page of a workflow, or of a schedule, in the Temporal UI. */
export const workflowLink = ({ url, namespace }: TemporalUi, id: string, kind = 'workflows'): string =>
  `${url.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/${kind}/${encodeURIComponent(id)}`;
