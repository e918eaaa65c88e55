import { endpoints } from '../../../contract/endpoints.ts';
import type { ChainRow } from './chain-store.ts';

/** What an audited request did, in the terms of IHE's Basic Audit Log Patterns. */
export type Interaction = 'read' | 'query' | 'create' | 'update' | 'delete' | 'disclosure';

const METHODS: Readonly<Record<string, { method: string }>> = endpoints;
const OF_METHOD: Readonly<Record<string, Interaction>> = {
  GET: 'read',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
};

/** Undefined for what is none of them, such as starting a query or cancelling it, and for what the service did by itself. */
export function interactionOf({
  operation,
  patientId,
}: Pick<ChainRow, 'operation' | 'patientId'>): Interaction | undefined {
  // The kick-off of an export names no patient; the entries of the patients in it do.
  if (operation === 'fhirExport') return patientId === null ? undefined : 'disclosure';
  if (/^(?:list|match|count|fhirSearch$|fhirMatch$|fhirEverything$)/.test(operation)) return 'query';
  if (/^(?:read|fhirRead(?:Binary)?$|fhirExportFile$|getEmbedSummary$)/.test(operation)) return 'read';
  if (/^create/.test(operation)) return 'create';
  if (/^(?:update|set[A-Z])/.test(operation)) return 'update';
  const method = METHODS[operation]?.method;
  return method === undefined ? undefined : OF_METHOD[method];
}

export const methodOf = (operation: string): string | undefined => METHODS[operation]?.method;
