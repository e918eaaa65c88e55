import { z } from 'zod';
import type { ErrorStatus } from './errors.ts';
import { idSchema } from './primitives.ts';
import type { Scope } from './scope.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * One operation of the interface. Routes, validation, types, the OpenAPI
 * document and the client are derived from it.
 */
export interface Endpoint {
  method: HttpMethod;
  /** With `:name` for path parameters. */
  path: string;
  /** Section of docs/interface.md that defines the operation. */
  reference: string;
  /**
   * Scope that the API key needs; without it, `scopeOf` derives the scope from
   * the method.
   */
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
    | 'event'
    | 'system';
  summary: string;
  description?: string;
  /** Default: an id for each parameter of the path. */
  params?: z.ZodType;
  query?: z.ZodType;
  /** Every write also accepts `Idempotency-Key`. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  /**
   * The body is FHIR, whose decimals stay as written, and may be as large as
   * this, in bytes.
   */
  fhirBytesMax?: number;
  /**
   * Whether accounts of the dialect "published" may send members that the
   * body's schema refuses; they are ignored.
   */
  ignoresUnknownWhenPublished?: boolean;
  /** Media type of success responses; default `application/json`. */
  mediaType?: string;
  /**
   * Schema of the response body by success status; `null` for a response
   * without a body.
   */
  responses: Readonly<Record<number, z.ZodType | null>>;
  /** Error statuses in addition to those that `errorStatusesOf` derives. */
  errors?: readonly ErrorStatus[];
}

/**
 * Error statuses of every operation: invalid key, missing scope, limit reached,
 * internal error, unavailable dependency.
 */
const COMMON_ERRORS = [401, 403, 429, 500, 503] as const;

/**
 * All error statuses of an operation in ascending order: common ones, its own,
 * and those implied by its method and input.
 */
export function errorStatusesOf({
  method,
  params,
  query,
  headers,
  body,
  errors = [],
}: Endpoint): ErrorStatus[] {
  const ofInput: readonly ErrorStatus[] =
    (params ?? query ?? headers ?? body) ? [400] : [];
  const ofPath: readonly ErrorStatus[] = params === undefined ? [] : [404];
  const ofMatch: readonly ErrorStatus[] =
    headers !== undefined && 'if-match' in headers.shape ? [412] : [];
  // With an Idempotency-Key: 409 while the first request is in progress, 422 if
  // the key was used for a different request.
  const ofKey: readonly ErrorStatus[] = method === 'GET' ? [] : [409, 422];
  const ofBody: readonly ErrorStatus[] = body === undefined ? [] : [413, 415];
  // The address counts as part of the headers.
  const ofAddress: readonly ErrorStatus[] = query === undefined ? [] : [431];
  const all = [
    COMMON_ERRORS,
    ofInput,
    ofPath,
    ofMatch,
    ofKey,
    ofBody,
    ofAddress,
    errors,
  ].flat();
  return [...new Set(all)].sort((a, b) => a - b);
}

/** Method and path of an operation: `GET /medical/v1/facility`. */
type Route = `${HttpMethod} /${string}`;
type Texts = Pick<Endpoint, 'tag' | 'reference' | 'summary' | 'description'>;
type Addressed<R> = R extends `${infer M extends HttpMethod} ${infer P}`
  ? { method: M; path: P } & IdsIn<P>
  : never;
type IdsIn<P> = [NameIn<P>] extends [never]
  ? unknown
  : { params: z.ZodObject<Record<NameIn<P>, typeof idSchema>> };
/** The names of the parameters of a path. */
type NameIn<P> = P extends `${string}:${infer N}/${infer Rest}`
  ? N | NameIn<Rest>
  : P extends `${string}:${infer N}`
    ? N
    : never;

type Shapes = Omit<Endpoint, keyof Texts | 'method' | 'path'>;
type WithResponses<A> = A extends z.ZodType
  ? { responses: { 200: A } }
  : A extends null
    ? { responses: { 204: null } }
    : A;

/**
 * An operation from its route, its texts, its success response, and its other
 * shapes and errors. Keeps the literal types.
 *
 * @param answer the body of a 200; null: a 204; or all shapes, where there is
 *   more to say of it
 */
export function endpoint<
  R extends Route,
  const A extends Shapes | z.ZodType | null,
  const S extends Omit<Shapes, 'responses'> = Record<never, never>,
>(
  route: R,
  texts: Texts,
  answer: A,
  others?: S,
): WithResponses<A> &
  S &
  Omit<Addressed<R>, keyof (WithResponses<A> & S)> &
  Texts {
  const ok =
    answer === null
      ? { responses: { 204: null } }
      : { responses: { 200: answer } };
  const isBody = answer === null || answer instanceof z.ZodType;
  const shapes = { ...(isBody ? ok : answer), ...others } as WithResponses<A> &
    S;
  const [method, path = ''] = route.split(' ');
  const { headers } = shapes as Shapes;
  const ofWrite =
    method === 'GET'
      ? {}
      : { headers: idempotency.extend(headers?.shape ?? {}) };
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, idSchema]);
  const ofPath =
    ids.length === 0 ? {} : { params: z.object(Object.fromEntries(ids)) };
  return {
    ...({ method, path, ...ofPath } as Addressed<R>),
    ...texts,
    ...shapes,
    ...ofWrite,
  };
}

const idempotency = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'For 24 hours, a repeated request with the same key and body returns the first response. 422 if the body differs, 409 while the first request is in progress.',
    ),
});

type Input<T> = T extends z.ZodType ? z.input<T> : undefined;
type Output<T> = T extends z.ZodType ? z.output<T> : undefined;

/** Input types of an operation, as a client passes them. */
export type EndpointRequest<E extends Endpoint> = (E extends {
  params: z.ZodType;
}
  ? { params: Input<E['params']> }
  : { params?: undefined }) &
  (E extends { query: z.ZodType }
    ? { query: Input<E['query']> }
    : { query?: undefined }) &
  (E extends { body: z.ZodType }
    ? undefined extends Input<E['body']>
      ? { body?: Input<E['body']> }
      : { body: Input<E['body']> }
    : { body?: undefined });

/** Type of an operation's success response body. */
export type EndpointResponse<E extends Endpoint> = Output<
  E['responses'][keyof E['responses']]
>;

/**
 * A request to an operation and its response, as the API reference shows them.
 * All operations share ids, so that they read as one story of one patient.
 */
interface ExampleOf<E extends Endpoint> {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: EndpointRequest<E>['body'];
  /** Body of the response; absent for a response without one. */
  answer?: Input<E['responses'][keyof E['responses']]>;
}

/** An example of every operation of a feature. */
export type ExamplesOf<E extends Readonly<Record<string, Endpoint>>> = {
  readonly [N in keyof E]: ExampleOf<E[N]>;
};
