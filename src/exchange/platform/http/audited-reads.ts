import type { FastifyRequest } from 'fastify';
import type { OperationName } from './operation.ts';

/**
 * Reads that are not audited: they return no patient data, or only the progress
 * of an operation, and are polled frequently. Every other read is audited; a
 * new read is audited unless this list names it.
 */
const NOT_AUDITED: ReadonlySet<OperationName> = new Set([
  // They return no patient data.
  'listCohorts',
  'getCohort',
  'listFacilities',
  'getFacility',
  'getPatientCohorts',
  'getPatientFacilities',
  'getSourceScorecard',
  'searchDirectory',
  'getSettings',
  'getWebhookStatus',
  'listWebhooks',
  'getWebhook',

  // They return the progress of an operation.
  'getNetworkQuery',
  'listNetworkQueries',
  'getNetworkQueryTimeline',
  'listNetworkQueryGateways',
  'getIdentitySession',
  'getBulkCreate',
  'listBulkCreates',
  'listConsolidatedQueries',
  'getConsolidatedQuery',
]);

export const isAuditedRead = (operation: OperationName): boolean =>
  !NOT_AUDITED.has(operation);

/**
 * Returns the text if it is a UUID. Any other text could be personal data that
 * the caller sent.
 */
const idOrNone = (text: string | undefined): string | undefined =>
  text !== undefined &&
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
    ? text
    : undefined;

/** Id of the patient named in the path or query of a request, for the audit. */
export function patientNamedBy(request: FastifyRequest): string | undefined {
  const { id } = (request.params ?? {}) as { id?: string };
  if (request.routeOptions.url?.includes('/patient/:id') === true)
    return idOrNone(id);
  const { patientId } = (request.query ?? {}) as { patientId?: unknown };
  return typeof patientId === 'string' ? idOrNone(patientId) : undefined;
}

/** Id of the object named in the path of a request, for the audit. */
export function targetNamedBy(request: FastifyRequest): string | undefined {
  const { id, requestId } = (request.params ?? {}) as {
    id?: string;
    requestId?: string;
  };
  return idOrNone(id ?? requestId);
}
