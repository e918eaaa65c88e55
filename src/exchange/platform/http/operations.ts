import type { FastifyInstance, FastifyRequest, FastifySchema, RouteOptions } from 'fastify';
import { z } from 'zod';
import { type Endpoint, errorStatusesOf, type HttpMethod } from '../../../contract/endpoint.ts';
import { endpoints } from '../../../contract/endpoints.ts';
import { errorBodySchema } from '../../../contract/errors.ts';
import { scopeOf } from '../../../contract/scope.ts';
import type { AccountTx } from '../database/database.ts';
import { isAuditedRead } from './audited-reads.ts';
import { ERROR_TITLES } from './errors.ts';
import type {
  ActionHandler,
  AnyResponse,
  OperationName,
  OperationRequest,
  TransactionHandler,
} from './operation.ts';
import { callerOf } from './plugins/auth.ts';
import { createReadAudit, runAction, runAuditedRead, runWrite, type WriteDeps } from './write.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Name of the operation in metrics, logs and audit. */
    operation?: string;
  }
}

/** Largest JSON body, in bytes; the largest sensible patient is a few kilobytes. */
const BODY_BYTES_MAX = 256 * 1024;
/** How the document's maker is told that an answer has no body. */
const NO_CONTENT = z.null().meta({ description: 'No content' });

/** What no operation reads may be anything, and of any length (interface.md, E5: "none is accepted or processed"). */
function ignoreBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, body, done) => {
    body.resume();
    done(null);
  });
}

/** Another address of an operation, or another method at its own. */
export type Alias = string | { method: HttpMethod };

/** Registers operations of the endpoint table: path, validation, types and documentation all come from there. */
export interface Operations {
  /** Reads in one transaction of the account, with audit where it shows patients' data. */
  read<N extends OperationName>(name: N, handler: TransactionHandler<N>, alias?: Alias): void;
  /** Changes something in one transaction, with audit and idempotency key. */
  write<N extends OperationName>(name: N, handler: TransactionHandler<N>, alias?: Alias): void;
  /** Has something changed by waiting for somebody else, with audit and idempotency key. */
  act<N extends OperationName>(name: N, handler: ActionHandler<N>, alias?: Alias): void;
}

export interface OperationsDeps extends WriteDeps {
  /** Which reads are audited; default: all but those named in audited-reads.ts. */
  isAudited?: (operation: OperationName) => boolean;
}

export function createOperations(app: FastifyInstance, deps: OperationsDeps): Operations {
  const { isAudited = isAuditedRead, store } = deps;
  const readAudit = createReadAudit(store);
  const register = (
    name: OperationName,
    run: (request: FastifyRequest) => Promise<AnyResponse>,
    { method, path, operationId }: { method?: HttpMethod; path?: string; operationId?: string } = {},
  ) => {
    const { body }: Endpoint = endpoints[name];
    const route: RouteOptions = {
      method: method ?? endpoints[name].method,
      url: path ?? endpoints[name].path,
      schema: schemaOf(name, operationId ?? name),
      config: { operation: name },
      bodyLimit: BODY_BYTES_MAX,
      handler: async (request, reply) => {
        const answer = await run(request);
        reply.code(answer.status).headers(answer.headers ?? {});
        return reply.send(answer.body);
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
          const read = (tx: AccountTx) => handler(tx, operationRequest(request));
          if (isAudited(name)) return runAuditedRead({ store, readAudit }, name, request, read);
          return store.asAccount(callerOf(request).account.id, read);
        },
        alias,
      ),
    write: (name, handler, alias) =>
      registerAll(
        name,
        (request) => runWrite(deps, name, request, (tx) => handler(tx, operationRequest(request))),
        alias,
      ),
    act: (name, handler, alias) =>
      registerAll(
        name,
        (request) => runAction(deps, name, request, () => handler(operationRequest(request))),
        alias,
      ),
  };
}

/** The one cast of the gateway: what validation made of the request has the types of the endpoint's schemas. */
function operationRequest<R extends OperationRequest>(request: FastifyRequest): R {
  const { params, query, headers, body } = request;
  return { params, query, headers, body, caller: callerOf(request) } as unknown as R;
}

function schemaOf(name: OperationName, operationId: string): FastifySchema {
  const endpoint: Endpoint = endpoints[name];
  const { params, query, headers, body, responses, mediaType = 'application/json' } = endpoint;
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
      description: ERROR_TITLES[status],
      content: { 'application/problem+json': { schema: errorBodySchema } },
    },
  ]);
  return {
    operationId,
    summary: endpoint.summary,
    description: [endpoint.description, `Scope of the API key: \`${scopeOf(endpoint)}\`.`]
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
