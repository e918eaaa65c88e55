import type { z } from 'zod';
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
  /** By success status code; `null` is an answer without body. */
  responses: Readonly<Record<number, z.ZodType | null>>;
  /** Error statuses beyond 400, 401, 429 and 500, which every operation may answer. */
  errors?: readonly number[];
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
  (E extends { body: z.ZodType } ? { body: Input<E['body']> } : { body?: undefined });

/** What a client receives. */
export type EndpointAnswer<E extends Endpoint> = Output<E['responses'][keyof E['responses']]>;
