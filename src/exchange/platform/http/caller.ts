import type { FastifyRequest } from 'fastify';
import type { Scope } from '../../../contract/scope.ts';
import type { Account } from '../account.ts';

/** The authenticated caller of a request. */
export interface Caller {
  account: Account;
  /** The caller's name in the audit (`AuditRecord.actor`). */
  actor: string;
  /**
   * Id of the API key, or of the key that created the embed token; absent for
   * our own orchestrator.
   */
  keyId?: string;
  scopes: readonly Scope[];
  /**
   * The scopes of a registered client's token: it permits the FHIR API only.
   */
  fhirScopes?: readonly string[];
  /** It is a network's token: it permits the responder only. */
  isNetwork?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every authenticated route. */
    caller: Caller | null;
  }
}

/**
 * The caller of an authenticated request. Throws if the route was registered
 * without authentication.
 */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null)
    throw new Error('this route was registered without authentication');
  return request.caller;
}
