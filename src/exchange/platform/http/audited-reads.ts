import type { FastifyRequest } from 'fastify';
import type { OperationName } from './operation.ts';

/**
 * Reads that show nothing of a patient, or only how far some work is: they are asked again and again, and nobody has to
 * answer for them. Every other read is audited, so a new one is until somebody decides otherwise here.
 */
const NOT_AUDITED: ReadonlySet<string> = new Set([
  'listCohorts',
  'getCohort',
  'listFacilities',
  'getFacility',
  'getPatientCohorts',
  'getPatientFacilities',
  'getNetworkQuery',
  'listNetworkQueries',
  'getNetworkQueryTimeline',
  'getIdentitySession',
  'getBulkCreate',
  'listBulkCreates',
  'listConsolidatedQueries',
  'getConsolidatedQuery',
  'getSettings',
  'getWebhookStatus',
  'listWebhooks',
  'getWebhook',
] satisfies OperationName[]);

export const isAuditedRead = (operation: OperationName): boolean => !NOT_AUDITED.has(operation);

/** What is no id may be anything that a caller wrote, a name too. */
const idOrNone = (text: string | undefined): string | undefined =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text : undefined;

/** The patient whom a request names in its address. */
export function patientNamedBy(request: FastifyRequest): string | undefined {
  const { id } = (request.params ?? {}) as { id?: string };
  if (request.routeOptions.url?.includes('/patient/:id') === true) return idOrNone(id);
  const { patientId } = (request.query ?? {}) as { patientId?: unknown };
  return typeof patientId === 'string' ? idOrNone(patientId) : undefined;
}

/** The thing that a request is about, as its path names it. */
export function targetNamedBy(request: FastifyRequest): string | undefined {
  const { id, requestId } = (request.params ?? {}) as { id?: string; requestId?: string };
  return idOrNone(id ?? requestId);
}
