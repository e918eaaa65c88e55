import type { z } from 'zod';
import type { ErrorStatus } from './errors.ts';
import type { Scope } from './scope.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the interface: the source of validation, types, OpenAPI, client and docs. */
export interface Endpoint {
  method: HttpMethod;
  /** With `:name` for path parameters. */
  path: string;
  /** Section of interface.md, or the row of interface-decisions.md. */
  reference: string;
  /** What an API key needs, where it is not what `scopeOf` derives of the method. */
  scope?: Scope;
  tag:
    | 'patient'
    | 'bulk create'
    | 'notification'
    | 'network query'
    | 'consolidated data'
    | 'document'
    | 'cohort'
    | 'facility'
    | 'identity'
    | 'embedding'
    | 'message'
    | 'settings'
    | 'system';
  summary: string;
  description?: string;
  params?: z.ZodType;
  query?: z.ZodType;
  headers?: z.ZodType;
  body?: z.ZodType;
  /** Of the answers of success; default `application/json`. */
  mediaType?: string;
  /** By success status code; `null` is an answer without body. */
  responses: Readonly<Record<number, z.ZodType | null>>;
  /** Error statuses beside those that `errorStatusesOf` derives. */
  errors?: readonly ErrorStatus[];
}

/** Every operation may answer these: wrong key, scope, limit reached, our fault, a part of us that is down. */
const COMMON_ERRORS = [401, 403, 429, 500, 503] as const;

/** Every error status that an operation may answer, in order: its own, and what follows of its method and body. */
export function errorStatusesOf({
  method,
  params,
  query,
  headers,
  body,
  errors = [],
}: Endpoint): ErrorStatus[] {
  const ofInput: readonly ErrorStatus[] = (params ?? query ?? headers ?? body) ? [400] : [];
  // Under an Idempotency-Key: 409 while the first request runs, 422 for another one.
  const ofKey: readonly ErrorStatus[] = method === 'POST' ? [409, 422] : [];
  const ofBody: readonly ErrorStatus[] = body === undefined ? [] : [413, 415];
  return [...new Set([...COMMON_ERRORS, ...ofInput, ...ofKey, ...ofBody, ...errors])].sort((a, b) => a - b);
}

/** Keeps the literal types of an endpoint. */
export const endpoint = <const E extends Endpoint>(definition: E): E => definition;

type Input<T> = T extends z.ZodType ? z.input<T> : undefined;
type Output<T> = T extends z.ZodType ? z.output<T> : undefined;

/** What a client sends. */
export type EndpointRequest<E extends Endpoint> = (E extends { params: z.ZodType }
  ? { params: Input<E['params']> }
  : { params?: undefined }) &
  (E extends { query: z.ZodType } ? { query: Input<E['query']> } : { query?: undefined }) &
  (E extends { body: z.ZodType }
    ? undefined extends Input<E['body']>
      ? { body?: Input<E['body']> }
      : { body: Input<E['body']> }
    : { body?: undefined });

/** What a client receives. */
export type EndpointResponse<E extends Endpoint> = Output<E['responses'][keyof E['responses']]>;
