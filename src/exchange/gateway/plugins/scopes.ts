import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { type Scope, scopeOf } from '../../../contract/scope.ts';
import { ForbiddenError } from '../../errors.ts';
import { auditRefusal, type WriteDeps } from '../write.ts';
import { callerOf } from './auth.ts';

/** Refuses with 403 a key whose scopes do not allow the operation, and has that audited. */
export function addScopeCheck(app: FastifyInstance, deps: WriteDeps): void {
  app.addHook('onRequest', async (request) => {
    const { scopes } = callerOf(request);
    const needed = scopeFor(request);
    if (scopes.includes(needed)) return;
    const error = new ForbiddenError(
      `This needs an API key with the scope ${needed}; the one given has: ${scopes.join(', ')}`,
    );
    await auditRefusal(deps, request.routeOptions.config.operation ?? 'unknown', request, error);
    throw error;
  });
}

/** Routes beside the table (the upload of a bulk create) are judged by their method, as rows that say nothing. */
function scopeFor(request: FastifyRequest): Scope {
  const operation = request.routeOptions.config.operation ?? '';
  const table: Readonly<Record<string, Endpoint>> = endpoints;
  const row = table[operation];
  if (row !== undefined) return scopeOf(row);
  return request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write';
}
