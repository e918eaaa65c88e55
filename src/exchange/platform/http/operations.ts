import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  preValidationAsyncHookHandler,
  RouteOptions,
} from 'fastify';
import { z } from 'zod';
import {
  type Endpoint,
  errorStatusesOf,
  type HttpMethod,
} from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { codesOfStatus, errorBodySchema } from '../../../contract/errors.ts';
import { type Scope, scopeOf } from '../../../contract/scope.ts';
import type { AccountTx } from '../database/database.ts';
import { isAuditedRead } from './audited-reads.ts';
import { callerOf } from './caller.ts';
import { errorTitle } from './errors.ts';
import type {
  ActionHandler,
  AnyResponse,
  OperationName,
  OperationRequest,
  TransactionHandler,
} from './operation.ts';
import {
  createReadAudit,
  runAction,
  runAuditedRead,
  runWrite,
  type WriteDeps,
} from './write.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is FHIR: decimals stay as written. */
    isFhir?: boolean;
    /** Name of the operation in metrics, logs and audit. */
    operation?: string;
    /**
     * Required scope of a route outside the endpoint table; default: `read` for
     * GET, `write` for other methods.
     */
    scope?: Scope;
    /** Whether a person's browser opens the address: errors are pages then. */
    isForPeople?: boolean;
  }
}

/**
 * Maximum size of a JSON body in bytes. For scale: a large patient has a few
 * kilobytes.
 */
const BODY_BYTES_MAX = 256 * 1024;
/**
 * Schema that makes the OpenAPI generator document a response without a body.
 */
const NO_CONTENT = z.null().meta({ description: 'No content' });

/**
 * Ignores request bodies of any type and length, for operations that take none
 * (docs/interface.md, Requests).
 */
function ignoreBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, body, done) => {
    body.resume();
    done(null);
  });
}

/**
 * An additional path of an operation, or an additional method on the same path.
 */
export type Alias = string | { method: HttpMethod };

/**
 * Registers operations of the endpoint table, from which path, validation,
 * types and documentation are derived.
 */
export interface Operations {
  /**
   * Registers a read in one transaction of the account, audited if it returns
   * patient data.
   */
  read<N extends OperationName>(
    name: N,
    handler: TransactionHandler<N>,
    alias?: Alias,
  ): void;
  /** Registers a change in one transaction, with audit and idempotency key. */
  write<N extends OperationName>(
    name: N,
    handler: TransactionHandler<N>,
    alias?: Alias,
  ): void;
  /**
   * Registers a change that waits for an external call, with audit and
   * idempotency key.
   */
  act<N extends OperationName>(
    name: N,
    handler: ActionHandler<N>,
    alias?: Alias,
  ): void;
}

export interface OperationsDeps extends WriteDeps {
  /** Whether a read is audited; default: `isAuditedRead`. */
  isAudited?: (operation: OperationName) => boolean;
}

export function createOperations(
  app: FastifyInstance,
  deps: OperationsDeps,
): Operations {
  const { isAudited = isAuditedRead, store } = deps;
  const readAudit = createReadAudit(store);
  const register = (
    name: OperationName,
    run: (request: FastifyRequest) => Promise<AnyResponse>,
    {
      method,
      path,
      operationId,
    }: { method?: HttpMethod; path?: string; operationId?: string } = {},
  ) => {
    const { body, fhirBytesMax, ignoresUnknownWhenPublished }: Endpoint =
      endpoints[name];
    const route: RouteOptions = {
      method: method ?? endpoints[name].method,
      url: path ?? endpoints[name].path,
      schema: schemaOf(name, operationId ?? name),
      config: { operation: name, isFhir: fhirBytesMax !== undefined },
      bodyLimit: fhirBytesMax ?? BODY_BYTES_MAX,
      ...(body !== undefined &&
        ignoresUnknownWhenPublished && {
          preValidation: dropUnknownMembers(body),
        }),
      handler: async (request, reply) => {
        const response = await run(request);
        reply.code(response.status).headers(response.headers ?? {});
        return reply.send(response.body);
      },
    };
    if (body !== undefined || route.method === 'GET') app.route(route);
    else
      void app.register(async (scope) => {
        ignoreBodies(scope);
        scope.route(route);
      });
  };
  const registerAll = (
    name: OperationName,
    run: (request: FastifyRequest) => Promise<AnyResponse>,
    alias?: Alias,
  ) => {
    register(name, run);
    if (alias === undefined) return;
    const other = typeof alias === 'string' ? { path: alias } : alias;
    register(name, run, { ...other, operationId: `${name}Alias` });
  };

  return {
    read: (name, handler, alias) =>
      registerAll(
        name,
        (request) => {
          const read = (tx: AccountTx) =>
            handler(tx, operationRequest(request));
          if (isAudited(name))
            return runAuditedRead({ store, readAudit }, name, request, read);
          return store.asAccount(callerOf(request).account.id, read);
        },
        alias,
      ),
    write: (name, handler, alias) =>
      registerAll(
        name,
        (request) =>
          runWrite(deps, name, request, (tx) =>
            handler(tx, operationRequest(request)),
          ),
        alias,
      ),
    act: (name, handler, alias) =>
      registerAll(
        name,
        (request) =>
          runAction(deps, name, request, () =>
            handler(operationRequest(request)),
          ),
        alias,
      ),
  };
}

/**
 * The gateway's only cast: after validation, the parts of the request have the
 * types of the endpoint's schemas.
 */
function operationRequest<R extends OperationRequest>(
  request: FastifyRequest,
): R {
  const { params, query, headers, body } = request;
  return {
    params,
    query,
    headers,
    body,
    caller: callerOf(request),
  } as unknown as R;
}

function schemaOf(name: OperationName, operationId: string): FastifySchema {
  const endpoint: Endpoint = endpoints[name];
  const {
    params,
    query,
    headers,
    body,
    responses,
    mediaType = 'application/json',
  } = endpoint;
  const success = Object.entries(responses).map(([status, schema]) => [
    status,
    schema === null
      ? NO_CONTENT
      : {
          description: status === '201' ? 'Created' : 'Success',
          content: { [mediaType]: { schema } },
        },
  ]);
  const failures = errorStatusesOf(endpoint).map((status) => [
    status,
    {
      description: `${errorTitle(status)} (${codesOfStatus(status).join(', ')})`,
      content: { 'application/problem+json': { schema: errorBodySchema } },
    },
  ]);
  return {
    operationId,
    summary: endpoint.summary,
    description: [
      endpoint.description,
      `Scope of the API key: \`${scopeOf(endpoint)}\`.`,
    ]
      .filter((text) => text !== undefined)
      .join('\n\n'),
    tags: [endpoint.tag],
    security: [{ apiKey: [] }],
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(headers && { headers }),
    ...(body && { body }),
    response: Object.fromEntries([...success, ...failures]),
  };
}

/**
 * Removes the members that `schema` does not know from the body of an account
 * of the dialect "published", whose clients send more than the interface has.
 * For other accounts the validation refuses them.
 */
const dropUnknownMembers =
  (schema: z.ZodType): preValidationAsyncHookHandler =>
  async (request) => {
    if (callerOf(request).account.dialect !== 'published') return;
    for (const issue of schema.safeParse(request.body).error?.issues ?? [])
      if (issue.code === 'unrecognized_keys')
        for (const key of issue.keys)
          Reflect.deleteProperty(memberAt(request.body, issue.path), key);
  };

const memberAt = (body: unknown, path: readonly PropertyKey[]): object =>
  path.reduce(
    (at, key) => (at as Record<PropertyKey, object>)[key] ?? {},
    body as object,
  );
