import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isJson } from '#record-summary/fhir';
import { QUERY_SCOPE } from '../../access/fhir-clients/rules/fhir-scopes.ts';
import {
  ExchangeError,
  ForbiddenError,
  InvalidRequestError,
} from '../../platform/errors.ts';
import {
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import { callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import {
  AGENT_METADATA_PATH,
  AGENT_PATH,
  FHIR_PATH,
} from '../../platform/http/operation-outcome.ts';
import { Permits } from '../../platform/limits/permits.ts';
import { readRecordCompleteness } from '../../records/reading/completeness.ts';
import { createSummaryReads } from '../embed/data-routes.ts';
import { createPageCursors } from '../fhir-api/bundles.ts';
import {
  createFhirReadAudit,
  type FhirDeps,
  mayRead,
} from '../fhir-api/requests.ts';
import { type Result, resultText } from './result.ts';
import {
  AGENT_DEFINITIONS,
  AGENT_INSTRUCTIONS,
  AGENT_TOOLS,
  type AgentToolName,
} from './tool-table.ts';
import * as tools from './tools.ts';

type AgentRouteDeps = Omit<
  tools.AgentDeps,
  Exclude<keyof FhirDeps, 'store' | 'records'> | 'permits' | 'summaries'
> &
  Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey' | 'idHmacKey'>;

/**
 * The agents' door: a server of the Model Context Protocol over the services of
 * the FHIR API (docs/agents.md).
 */
export const agentsFeature = {
  open: NOTHING_OPEN,
  routes: ({ authenticated }: GatewayScopes, deps: AgentRouteDeps) =>
    authenticated((scope) => addAgentRoute(scope, deps)),
} satisfies Feature;

const RUNS: Readonly<
  Record<
    AgentToolName,
    (on: tools.ToolCall, args: tools.Args) => Promise<Result>
  >
> = {
  find_patient: tools.findPatientForAgent,
  patient_summary: tools.patientSummary,
  search_results: tools.searchTool(
    'search_results',
    AGENT_TOOLS.search_results.types,
  ),
  search_medications: tools.searchTool(
    'search_medications',
    AGENT_TOOLS.search_medications.types,
  ),
  search_notes: tools.searchTool(
    'search_notes',
    AGENT_TOOLS.search_notes.types,
  ),
  read_note: tools.readNote,
  query_status: tools.queryStatus,
  start_query: tools.startQueryForAgent,
};

/** The tools as `tools/list` gives them, and the check of their arguments. */
const LISTED = Object.entries(AGENT_TOOLS).map(
  ([name, { title, description, input, output }]) => {
    const readOnlyHint = name !== 'start_query';
    const inputSchema = {
      type: 'object' as const,
      additionalProperties: false,
      ...input,
    };
    return {
      name,
      title,
      description,
      inputSchema,
      outputSchema: {
        type: 'object' as const,
        $defs: AGENT_DEFINITIONS,
        ...output,
      },
      annotations: {
        title,
        readOnlyHint,
        destructiveHint: false,
        openWorldHint: !readOnlyHint,
      },
    };
  },
);
const CHECKS = new Map(
  LISTED.map(({ name, inputSchema }) => [
    name,
    z.fromJSONSchema(inputSchema as z.core.JSONSchema.JSONSchema),
  ]),
);

/**
 * The name of the tool that a message calls; undefined for other messages, and
 * for tools that do not exist.
 */
function toolNamed(body: unknown): AgentToolName | undefined {
  const name =
    isJson(body) && body.method === 'tools/call' && isJson(body.params)
      ? body.params.name
      : '';
  return CHECKS.has(String(name)) ? (name as AgentToolName) : undefined;
}

/** A message is a call with a few short arguments, or with a cursor. */
const BODY_BYTES_MAX = 64 * 1024;

function addAgentRoute(app: FastifyInstance, deps: AgentRouteDeps): void {
  const { store, linkSigningKey, publicBaseUrl } = deps;
  const permits = new Permits(
    undefined,
    'Too many agents are waiting for queries at the moment',
  );
  app.addHook('preClose', async () => permits.close());
  const agent: tools.AgentDeps = {
    ...deps,
    permits,
    summaries: createSummaryReads(store),
    finder: store,
    path: FHIR_PATH,
    base: `${publicBaseUrl}${FHIR_PATH}`,
    isResponder: false,
    cursors: createPageCursors(`${linkSigningKey}${AGENT_PATH}`),
    audit: createFhirReadAudit(store, ({ body }) =>
      auditNameOf(toolNamed(body) ?? ''),
    ),
    readStanding: readRecordCompleteness,
  };
  const config = { operation: 'agentCall', scope: 'read' } as const;
  const options = { schema: { hide: true }, config, bodyLimit: BODY_BYTES_MAX };
  app.post(AGENT_PATH, options, async (request, reply) => {
    requireOrigin(request, publicBaseUrl);
    const { body } = request;
    if (!isJson(body))
      throw new InvalidRequestError([
        { path: '', message: 'The body must be one JSON-RPC message' },
      ]);
    requireScopes(request, publicBaseUrl);
    const gone = new AbortController();
    const server = createServer(agent, request, gone.signal);
    const { params } = body;
    const hasToken =
      isJson(params) &&
      isJson(params._meta) &&
      params._meta.progressToken !== undefined;
    // Without a token there is nothing to tell before the result.
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !hasToken,
    });
    const end = () => {
      gone.abort();
      void server.close();
    };
    reply.raw.once('close', end);
    if (reply.raw.destroyed) end();
    await server.connect(transport);
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers))
      headers.set(name, String(value));
    // The transport knows only the two types by name.
    if (acceptsAll(request)) headers.set('accept', ANSWERED_TYPES);
    const asked = new Request(`${publicBaseUrl}${AGENT_PATH}`, {
      method: 'POST',
      headers,
    });
    return reply.send(
      await transport.handleRequest(asked, { parsedBody: body }),
    );
  });
}

const ANSWERED_TYPES = 'application/json, text/event-stream';

const acceptsAll = ({ headers: { accept = '*/*' } }: FastifyRequest): boolean =>
  accept.split(',').some((range) => range.split(';')[0]?.trim() === '*/*');

/** `agentPatientSummary`, of patient_summary. */
const auditNameOf = (tool: string): string =>
  `agent_${tool}`.replaceAll(/_(\w)/g, (_, letter: string) =>
    letter.toUpperCase(),
  );

/**
 * Against DNS rebinding: a page of another origin must not get here through
 * somebody's browser.
 */
function requireOrigin(
  { headers: { origin } }: FastifyRequest,
  publicBaseUrl: string,
): void {
  if (origin !== undefined && origin !== new URL(publicBaseUrl).origin)
    throw new ForbiddenError(
      'Pages of other origins may not use this address; call it from a program',
    );
}

/**
 * @throws ExchangeError 403 that names the scopes which the called tool needs
 *   (MCP, Authorization)
 */
function requireScopes(request: FastifyRequest, publicBaseUrl: string): void {
  const name = toolNamed(request.body);
  if (name === undefined) return;
  const types = Object.keys(AGENT_TOOLS[name].types);
  const isStart = name === 'start_query';
  const { scopes, fhirScopes } = callerOf(request);
  const mayStart =
    fhirScopes?.includes(QUERY_SCOPE) ?? scopes.includes('write');
  if (types.some((type) => mayRead(request, type)) && (!isStart || mayStart))
    return;
  const scope = [
    ...types.map((type) => `system/${type}.rs`),
    ...(isStart ? [QUERY_SCOPE] : []),
  ].join(' ');
  const metadata = `resource_metadata="${publicBaseUrl}${AGENT_METADATA_PATH}"`;
  throw new ExchangeError(
    403,
    `The tool ${name} requires a scope that you do not have: ${scope}`,
    {
      code: 'scope-missing',
      headers: {
        'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}", ${metadata}`,
      },
    },
  );
}

/**
 * A server for one HTTP request: no session is kept, so any gateway answers any
 * message.
 */
function createServer(
  agent: tools.AgentDeps,
  request: FastifyRequest,
  gone: AbortSignal,
): Server {
  const server = new Server(
    { name: 'medical-data-exchange', version: '1.0.0' },
    { capabilities: { tools: {} }, instructions: AGENT_INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: LISTED }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, sendNotification }) => {
      const name = toolNamed({ method: 'tools/call', params });
      if (name === undefined)
        throw new McpError(
          ErrorCode.InvalidParams,
          'There is no such tool; tools/list names those that there are',
        );
      const progressToken = params._meta?.progressToken;
      const progress = async (step: number, message: string) => {
        const said = {
          progressToken: progressToken ?? '',
          progress: step,
          message,
        };
        if (progressToken !== undefined)
          await sendNotification({
            method: 'notifications/progress',
            params: said,
          });
      };
      const { id: accountId } = callerOf(request).account;
      const call = {
        ...agent,
        request,
        accountId,
        progress,
        signal: AbortSignal.any([signal, gone]),
      };
      try {
        const result = await RUNS[name](
          call,
          argumentsOfTool(name, params.arguments ?? {}),
        );
        return {
          content: [{ type: 'text', text: resultText(result) }],
          structuredContent: { ...result.structured },
        };
      } catch (thrown) {
        const { status, body } = await request.server.refuse(thrown, request);
        return {
          isError: true,
          content: [
            { type: 'text', text: `${status} ${body.title}: ${body.detail}` },
          ],
        };
      }
    },
  );
  return server;
}

/** The arguments as text; ids in lower case. @throws InvalidRequestError */
export function argumentsOfTool(
  name: AgentToolName,
  given: object,
): tools.Args {
  const read = CHECKS.get(name)?.safeParse(given);
  const errors = read?.error?.issues.map(({ path, message }) => ({
    path: z.core.toDotPath(path),
    message,
  }));
  if (errors !== undefined) throw new InvalidRequestError(errors);
  return Object.fromEntries(
    Object.entries(read?.data ?? {}).map(([key, value]) => [
      key,
      key.endsWith('_id') ? String(value).toLowerCase() : String(value),
    ]),
  );
}
