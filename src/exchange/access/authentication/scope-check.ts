import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { type Scope, scopeOf } from '../../../contract/scope.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import {
  isAgentUrl,
  isFhirUrl,
  RESPONDER_PATH,
} from '../../platform/http/operation-outcome.ts';

/**
 * Rejects a request with 403 if the scopes of the key do not permit the
 * operation, or an embed token may not use it.
 */
export function addScopeCheck(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const operation = request.routeOptions.config.operation ?? 'unknown';
    const refusal = refusalOf(request, operation);
    if (refusal !== undefined)
      throw new ForbiddenError(refusal, 'scope-missing');
  });
}

function refusalOf(
  request: FastifyRequest,
  operation: string,
): string | undefined {
  const {
    scopes,
    embedToken,
    fhirScopes,
    isNetwork = false,
  } = callerOf(request);
  if (isNetwork && !request.url.startsWith(`${RESPONDER_PATH}/`))
    return `The token of a network can only be used at ${RESPONDER_PATH}`;
  if (
    fhirScopes !== undefined &&
    !isFhirUrl(request.url) &&
    !isAgentUrl(request.url)
  )
    return 'A token of a registered client can only be used for the FHIR API and for agents (/mcp); use an API key for this operation';
  if (embedToken !== undefined)
    return EMBED_OPERATIONS.has(operation)
      ? undefined
      : 'An embed token can only read the data of the embedded page; use an API key for this operation';
  const needed = scopeFor(request);
  return scopes.includes(needed)
    ? undefined
    : `This operation requires an API key with the scope ${needed}; your key has: ${scopes.join(', ')}`;
}

/**
 * The required scope. Routes outside the endpoint table state it, or it depends
 * on the method.
 */
function scopeFor(request: FastifyRequest): Scope {
  const { operation = '', scope } = request.routeOptions.config;
  const table: Readonly<Record<string, Endpoint>> = endpoints;
  const row = table[operation];
  if (row !== undefined) return scopeOf(row);
  if (scope !== undefined) return scope;
  return request.method === 'GET' || request.method === 'HEAD'
    ? 'read'
    : 'write';
}

/**
 * The operations an embed token permits: those that the page uses; none that
 * lists patients.
 */
export const EMBED_OPERATIONS: ReadonlySet<string> = new Set([
  'getPatient',
  'getPatientCohorts',
  'listDocuments',
  'getDocumentUrl',
  'getEmbedSummary',
  'watchEmbedQueries',
]);
