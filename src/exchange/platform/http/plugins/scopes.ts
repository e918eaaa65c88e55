import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../../../contract/endpoint.ts';
import { endpoints } from '../../../../contract/endpoints.ts';
import { type Scope, scopeOf } from '../../../../contract/scope.ts';
import { EMBED_OPERATIONS } from '../../../embed/embed-operations.ts';
import { ForbiddenError } from '../../errors.ts';
import { callerOf } from './auth.ts';

/** Refuses with 403 a key whose scopes, or an embed token whose kind, do not allow the operation. */
export function addScopeCheck(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const operation = request.routeOptions.config.operation ?? 'unknown';
    const refusal = refusalOf(request, operation);
    if (refusal !== undefined) throw new ForbiddenError(refusal);
  });
}

function refusalOf(request: FastifyRequest, operation: string): string | undefined {
  const { scopes, embedToken } = callerOf(request);
  if (embedToken !== undefined)
    return EMBED_OPERATIONS.has(operation)
      ? undefined
      : 'An embed token reads what the embedded page shows, nothing else; this needs an API key';
  const needed = scopeFor(request);
  return scopes.includes(needed)
    ? undefined
    : `This needs an API key with the scope ${needed}; the one given has: ${scopes.join(', ')}`;
}

/** Routes beside the table (the upload of a bulk create) are judged by their method, as rows that say nothing. */
function scopeFor(request: FastifyRequest): Scope {
  const operation = request.routeOptions.config.operation ?? '';
  const table: Readonly<Record<string, Endpoint>> = endpoints;
  const row = table[operation];
  if (row !== undefined) return scopeOf(row);
  return request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write';
}
