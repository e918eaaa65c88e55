import { type Dispatcher, request as send } from 'undici';
import { z } from 'zod';
import { retryAfterMs } from '../../lib/retry-after.ts';
import {
  type CallNature,
  ExchangeCallError,
  errorCodeOf,
  failedResponse,
  failedTransport,
  isHtml,
  mismatchedResponse,
} from '../../orchestrator/client/failures.ts';
import { readJson } from '../../orchestrator/client/read-json.ts';

const fileSchema = z.looseObject({
  type: z.string(),
  url: z.string(),
  count: z.number().int().optional(),
  sizeBytes: z.number().int().optional(),
});
/** Manifest of FHIR Bulk Data Access; other members are kept. */
const manifestSchema = z.looseObject({
  transactionTime: z.string(),
  output: z.array(fileSchema),
  deleted: z.array(fileSchema).default([]),
  error: z.array(fileSchema).default([]),
});
/** The ready-made views; other members are kept. */
const viewsSchema = z.object({
  entry: z.array(
    z.object({
      resource: z.looseObject({
        id: z.string(),
        resource: z.string(),
        title: z.string().optional(),
      }),
    }),
  ),
});
type ReadyView = z.infer<typeof viewsSchema>['entry'][number]['resource'];

export type ExportManifest = z.infer<typeof manifestSchema>;

export type ExportState =
  | { status: 'running'; progress?: string; waitMs?: number }
  | { status: 'completed'; manifest: ExportManifest }
  | { status: 'failed'; reason: string };

export interface ExportWanted {
  cohort?: string;
  since?: string;
  type?: string;
  /**
   * Writes tables instead of resources: the ids of ready-made views, or
   * definitions. The rest is for them only.
   */
  views?: readonly unknown[];
  format?: string;
  incremental?: boolean;
  deidentified?: boolean;
}

export type BulkExports = ReturnType<typeof createBulkExports>;

const READ: CallNature = {
  changes: false,
  repeatable: true,
  conflictMeansRunning: false,
};
/** A transfer fails when no byte has moved for this long. */
const STALL_MS = 60_000;
const RETRY_AFTER_MAX_MS = 60_000;
/**
 * Only the address of the exchange gets the API key, so ids are used and not
 * the addresses in its responses.
 */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The id of an export, from the id or from the address of its status. Undefined
 * for anything else.
 */
export function exportIdOf(text: string): string | undefined {
  const last =
    text
      .trim()
      .replace(/[?#].*$/, '')
      .replace(/\/+$/, '')
      .split('/')
      .at(-1) ?? '';
  return ID.test(last) ? last.toLowerCase() : undefined;
}

/**
 * The bulk exports of the exchange's FHIR API. All methods throw
 * ExchangeCallError.
 */
export function createBulkExports({
  baseUrl,
  apiKey,
  dispatcher,
}: {
  baseUrl: string;
  apiKey: string;
  dispatcher: Dispatcher;
}) {
  const fhir = `${baseUrl.replace(/\/+$/, '')}/fhir/R4`;
  const statusUrl = (id: string) =>
    `${fhir}/bulk-export/${encodeURIComponent(id)}`;

  return {
    /** Returns the id of the new export. */
    async start(wanted: ExportWanted): Promise<string> {
      if (wanted.views !== undefined) return startViews(wanted);
      const { cohort, since, type } = wanted;
      const level =
        cohort === undefined
          ? 'Patient'
          : `Group/${encodeURIComponent(cohort)}`;
      const url = new URL(`${fhir}/${level}/$export`);
      if (since !== undefined) url.searchParams.set('_since', since);
      if (type !== undefined) url.searchParams.set('_type', type);
      const answer = await call('startExport', url, {
        changes: true,
        headers: { prefer: 'respond-async' },
      });
      return startedId(answer);
    },

    async read(id: string, signal?: AbortSignal): Promise<ExportState> {
      const answer = await call('getExport', new URL(statusUrl(id)), {
        signal,
        accepts: [500],
      });
      const { statusCode: status } = answer;
      if (status === 202) {
        await answer.body.dump();
        const waitMs = retryAfterMs(
          headerOf(answer, 'retry-after'),
          Date.now(),
          RETRY_AFTER_MAX_MS,
        );
        return {
          status: 'running',
          progress: headerOf(answer, 'x-progress'),
          waitMs,
        };
      }
      const body = await readJson(answer.body, true);
      if (status === 500)
        return {
          status: 'failed',
          reason: diagnosticsOf(body) ?? 'the exchange gives no reason',
        };
      const manifest = manifestSchema.safeParse(body);
      if (!manifest.success)
        throw mismatchedResponse(
          'getExport',
          'the answer is no manifest',
          status,
        );
      return { status: 'completed', manifest: manifest.data };
    },

    async cancel(id: string): Promise<void> {
      const answer = await call('cancelExport', new URL(statusUrl(id)), {
        method: 'DELETE',
      });
      await answer.body.dump();
    },

    /** The ready-made views. */
    async listViews(): Promise<ReadyView[]> {
      const answer = await call('listViews', new URL(`${fhir}/ViewDefinition`));
      return viewsSchema
        .parse(await readJson(answer.body, true))
        .entry.map(({ resource }) => resource);
    },

    async download(
      id: string,
      file: string,
      signal: AbortSignal,
    ): Promise<AsyncIterable<Uint8Array>> {
      const url = new URL(`${statusUrl(id)}/${encodeURIComponent(file)}`);
      const { body } = await call('downloadExportFile', url, { signal });
      return guarded(body, signal);
    },
  };

  async function startViews({
    views = [],
    format,
    cohort,
    since,
    incremental,
    deidentified,
  }: ExportWanted) {
    const reference = (name: string, to: string) => ({
      name,
      valueReference: { reference: to },
    });
    const part = (view: unknown) =>
      typeof view === 'string'
        ? reference('viewReference', `ViewDefinition/${view}`)
        : { name: 'viewResource', resource: view };
    const parameter = [
      ...views.map((view) => ({ name: 'view', part: [part(view)] })),
      { name: '_format', valueCode: format },
      cohort !== undefined && reference('group', `Group/${cohort}`),
      since !== undefined && { name: '_since', valueInstant: since },
      { name: 'incremental', valueBoolean: incremental ?? false },
      { name: 'deidentified', valueBoolean: deidentified ?? false },
    ].filter((each) => each !== false);
    return startedId(
      await call(
        'startExport',
        new URL(`${fhir}/ViewDefinition/$viewdefinition-export`),
        {
          method: 'POST',
          changes: true,
          body: JSON.stringify({ resourceType: 'Parameters', parameter }),
          headers: {
            prefer: 'respond-async',
            'content-type': 'application/fhir+json',
          },
        },
      ),
    );
  }

  async function call(
    operation: string,
    url: URL,
    {
      method = 'GET',
      changes = false,
      headers = {},
      signal,
      accepts = [],
      body: sent,
    }: {
      method?: 'GET' | 'POST' | 'DELETE';
      changes?: boolean;
      headers?: Record<string, string>;
      signal?: AbortSignal;
      accepts?: readonly number[];
      body?: string;
    } = {},
  ): Promise<Dispatcher.ResponseData> {
    const nature = changes ? { ...READ, changes, repeatable: false } : READ;
    const answer = await send(url, {
      method,
      headers: {
        accept: 'application/fhir+json, application/json',
        'x-api-key': apiKey,
        ...headers,
      },
      dispatcher,
      signal,
      body: sent,
      headersTimeout: STALL_MS,
      bodyTimeout: STALL_MS,
    }).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw failedTransport(operation, errorCodeOf(error), true, nature);
    });
    const { statusCode: status } = answer;
    if ((status >= 200 && status <= 299) || accepts.includes(status))
      return answer;
    const body = await readJson(answer.body, false);
    const failure = failedResponse(
      operation,
      {
        status,
        retryAfter: headerOf(answer, 'retry-after'),
        body,
        isHtml: isHtml(answer.headers['content-type']),
      },
      nature,
    );
    throw new ExchangeCallError(
      failure.kind,
      diagnosticsOf(body) ?? failure.message,
      failure,
    );
  }
}

async function startedId(answer: Dispatcher.ResponseData): Promise<string> {
  await answer.body.dump();
  const id = exportIdOf(headerOf(answer, 'content-location') ?? '');
  if (id === undefined)
    throw mismatchedResponse(
      'startExport',
      'Content-Location names no export',
      answer.statusCode,
    );
  return id;
}

async function* guarded(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    signal.throwIfAborted();
    throw failedTransport('downloadExportFile', errorCodeOf(error), true, READ);
  }
}

const outcomeSchema = z.object({
  resourceType: z.literal('OperationOutcome'),
  issue: z.array(z.object({ diagnostics: z.string() })).min(1),
});
const ISSUES_MAX = 5;

/** What an OperationOutcome says, in one line. */
function diagnosticsOf(body: unknown): string | undefined {
  const outcome = outcomeSchema.safeParse(body);
  return outcome.data?.issue
    .slice(0, ISSUES_MAX)
    .map(({ diagnostics }) => diagnostics.replace(/\.$/, ''))
    .join('; ');
}

const headerOf = (
  { headers }: Dispatcher.ResponseData,
  name: string,
): string | undefined => [headers[name]].flat()[0];
