import type { FastifyRequest } from 'fastify';
import { typesOfScopes } from '../../access/fhir-clients/rules/fhir-scopes.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';

/** The types that the caller's token permits; undefined means all, as with an API key. */
const typesOf = (request: FastifyRequest): ReadonlySet<string> | undefined =>
  typesOfScopes(callerOf(request).fhirScopes ?? ['system/*.rs']);

export const mayRead = (request: FastifyRequest, type: string): boolean =>
  typesOf(request)?.has(type) !== false;

/** @throws ForbiddenError when the caller's token does not permit the type */
export function requireScope(request: FastifyRequest, type: string): void {
  if (mayRead(request, type)) return;
  const scopes = callerOf(request).fhirScopes ?? [];
  throw new ForbiddenError(`This requires the scope system/${type}.rs; your token has: ${scopes.join(' ')}`);
}

/**
 * The requested types, or without any those that the caller may read; undefined means all.
 *
 * @throws ForbiddenError when the caller's token does not permit one of the requested types
 */
export function permittedTypes(
  request: FastifyRequest,
  requested: readonly string[] | undefined,
): string[] | undefined {
  for (const type of requested ?? []) requireScope(request, type);
  const types = typesOf(request);
  return requested === undefined ? types && [...types].sort() : [...requested];
}
