import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findCohort } from '../../people/cohorts/cohort-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import { leaveRequestShare } from '../../platform/http/plugins/request-share.ts';
import { requireUnchanged } from '../../records/reading/record-store.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';
import { acceptFhirBodies } from '../fhir-api/bundles.ts';
import {
  checkSearch,
  pairsOf,
  permittedTypes,
  prefers,
  requireParameters,
} from '../fhir-api/requests.ts';
import {
  containsDeletedPatient,
  countRunningExports,
  endExport,
  findExport,
  insertExport,
  readExportParts,
  type StoredExport,
  withdrawExport,
} from './export-store.ts';
import { type ExportLauncher, FILES_KEPT_HOURS } from './launcher.ts';
import { parseExport } from './rules/export-request.ts';
import { type ExportFile, exportFiles, manifestOf } from './rules/files.ts';
import { TABLE_MEDIA_TYPES } from './views/table-file.ts';
import { describeTables } from './views/view-plan.ts';

export interface ExportRouteDeps {
  store: Store;
  blobs: BlobStore;
  publicBaseUrl: string;
  bulkExports: Pick<ExportLauncher, 'launch' | 'stop'>;
}

/** Exports of one account at a time. */
const RUNNING_MAX = 2;
const RETRY_AFTER_SECONDS = 5;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const schema = { hide: true };
const STATUS_PATH = `${FHIR_PATH}/bulk-export`;
export const KICK_OFF = { operation: 'fhirExport', scope: 'read' } as const;

/** FHIR Bulk Data Access 2.0: kick-off, status, cancellation and files. */
export function addExportRoutes(
  app: FastifyInstance,
  deps: ExportRouteDeps,
): void {
  acceptFhirBodies(app);
  // All data is about patients, so that a system-level export is one of all
  // patients.
  for (const url of [
    `${FHIR_PATH}/$export`,
    `${FHIR_PATH}/Patient/$export`,
    `${FHIR_PATH}/Group/:id/$export`,
  ])
    app.route({
      method: ['GET', 'POST'],
      url,
      schema,
      config: KICK_OFF,
      exposeHeadRoute: false,
      handler: kickOff(deps, async (request) => {
        const wanted = wantedExport(request);
        return async () => wanted;
      }),
    });

  app.get<{ Params: { id: string } }>(
    `${STATUS_PATH}/:id`,
    {
      schema,
      config: { operation: 'fhirExportStatus', scope: 'read' },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { row, files } = await exportOf(deps, request, request.params.id);
      reply.header('cache-control', 'no-store');
      if (row.status === 'failed')
        throw new ExchangeError(
          500,
          `The export failed: ${row.reason ?? 'start a new one'}`,
          { code: 'export-failed' },
        );
      if (row.status === 'running') {
        const { patients, done, resources } = row;
        const progress =
          patients === null
            ? 'starting'
            : `${done} of ${patients} patients, ${resources} resources`;
        return reply
          .code(202)
          .headers({
            'x-progress': progress,
            'retry-after': RETRY_AFTER_SECONDS,
          })
          .send();
      }
      const statusUrl = `${deps.publicBaseUrl}${STATUS_PATH}/${row.id}`;
      reply.header('expires', expiryOf(row).toUTCString());
      return reply.type('application/json; charset=utf-8').send(
        JSON.stringify({
          ...manifestOf(row, files, statusUrl),
          ...(row.view_plan && describeTables(row.view_plan)),
        }),
      );
    },
  );

  app.delete<{ Params: { id: string } }>(
    `${STATUS_PATH}/:id`,
    { schema, config: { operation: 'fhirExportCancel', scope: 'read' } },
    async (request, reply) => {
      const { row } = await exportOf(deps, request, request.params.id);
      const { id: accountId } = callerOf(request).account;
      await deps.store.asAccount(accountId, async (tx) => {
        if (!(await endExport(tx, row.id, { status: 'cancelled' })))
          await withdrawExport(tx, row.id);
        await auditExport(tx, request, row.id, '202');
      });
      deps.bulkExports.stop(accountId, row.id);
      return reply.code(202).send();
    },
  );

  app.get<{ Params: { id: string; file: string } }>(
    `${STATUS_PATH}/:id/:file`,
    {
      schema,
      config: { operation: 'fhirExportFile', scope: 'read' },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const { row, files } = await exportOf(deps, request, request.params.id);
      const { view_plan: plan } = row;
      const file = files.find(({ name }) => name === request.params.file);
      if (row.status !== 'completed' || file === undefined)
        throw new NotFoundError('File');
      await deps.store.asAccount(row.account_id, (tx) =>
        auditExport(tx, request, row.id, '200'),
      );
      leaveRequestShare(request);
      return reply
        .type(
          plan === null || file.kind === 'error'
            ? 'application/fhir+ndjson'
            : TABLE_MEDIA_TYPES[plan.format],
        )
        .headers({
          'cache-control': 'no-store',
          'content-length': file.sizeBytes,
        })
        .send(Readable.from(contentOf(deps.blobs, file)));
    },
  );
}

/** What a kick-off asks for. Throws before anything is stored. */
function wantedExport(request: FastifyRequest): WantedExport {
  const { id: cohortId } = request.params as { id?: string };
  requireParameters(request);
  const { request: parsed, faults } = parseExport(pairsOf(request), (type) =>
    SERVED_TYPES.includes(type),
  );
  // Unlike in a search, an ignored parameter could multiply the data.
  const isLenient = prefers(request, 'handling=lenient');
  const unknown = parsed.ignored.map((parameter) => ({
    parameter,
    message: 'is not supported',
  }));
  checkSearch(request, {
    faults: isLenient ? faults : [...faults, ...unknown],
    ignored: [],
  });
  const { ignored: _, ...wanted } = {
    ...parsed,
    types: permittedTypes(request, parsed.types),
  };
  return { cohortId, ...wanted };
}

export type WantedExport = Omit<
  Parameters<typeof insertExport>[1],
  'id' | 'actor' | 'request'
>;

/**
 * Answers a kick-off: commits an export and starts its workflow.
 *
 * @param read what is wanted, first without a transaction: that may take its
 *   time; its errors leave nothing behind
 * @throws ExchangeError 429 when the account's exports are as many as may run,
 *   NotFoundError for another account's cohort
 */
export const kickOff =
  (
    { store, publicBaseUrl, bulkExports }: ExportRouteDeps,
    read: (
      request: FastifyRequest,
    ) => Promise<(tx: AccountTx) => Promise<WantedExport>>,
  ) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    if (!prefers(request, 'respond-async'))
      throw new InvalidRequestError([
        {
          path: 'Prefer',
          message: 'must be respond-async: an export takes its time',
        },
      ]);
    const { account, actor } = callerOf(request);
    await store.asAccount(account.id, requireRoom);
    const readRest = await read(request);
    const id = uuidv7();
    await store.asAccount(account.id, async (tx) => {
      const wanted = await readRest(tx);
      const { cohortId } = wanted;
      if (
        cohortId !== undefined &&
        (!UUID.test(cohortId) || (await findCohort(tx, cohortId)) === undefined)
      )
        throw new NotFoundError('Group');
      await requireRoom(tx);
      await insertExport(tx, {
        id,
        actor,
        request: `${publicBaseUrl}${request.url}`,
        ...wanted,
      });
      await auditExport(tx, request, id, '202');
    });
    bulkExports.launch(account.id, id);
    return reply
      .code(202)
      .header('content-location', `${publicBaseUrl}${STATUS_PATH}/${id}`)
      .send();
  };

/** @throws ExchangeError 429 when as many exports run as may at a time */
async function requireRoom(tx: AccountTx): Promise<void> {
  if ((await countRunningExports(tx)) < RUNNING_MAX) return;
  throw new ExchangeError(
    429,
    `${RUNNING_MAX} exports of this account are running; wait for one to end, or cancel it`,
    { headers: { 'retry-after': '60' } },
  );
}

/**
 * @throws NotFoundError when it does not exist or was cancelled, ExchangeError
 *   410 when its files are gone
 */
async function exportOf(
  deps: ExportRouteDeps,
  request: FastifyRequest,
  id: string,
): Promise<{ row: StoredExport; files: ExportFile[] }> {
  if (!UUID.test(id)) throw new NotFoundError('Export');
  const { row, parts, isWithdrawn } = await deps.store.asAccount(
    callerOf(request).account.id,
    async (tx) => {
      const found = await findExport(tx, id);
      const isCompleted = found?.status === 'completed';
      if (isCompleted)
        await requireUnchanged(tx, found.created_at, { exportId: id });
      return {
        row: found,
        parts: isCompleted ? await readExportParts(tx, id) : [],
        isWithdrawn: isCompleted && (await containsDeletedPatient(tx, id)),
      };
    },
  );
  const { actor, fhirScopes } = callerOf(request);
  // Another caller's export may contain types that the scopes of this token do
  // not permit.
  const isOthers = fhirScopes !== undefined && row?.actor !== actor;
  if (row === undefined || row.status === 'cancelled' || isOthers)
    throw new NotFoundError('Export');
  if (
    row.status === 'completed' &&
    (row.files_deleted_at !== null || expiryOf(row) < new Date())
  )
    throw new ExchangeError(
      410,
      'The files of this export have expired; start a new export',
    );
  if (isWithdrawn)
    throw new ExchangeError(
      410,
      'A patient in this export was deleted, so its files were withdrawn; start a new export',
    );
  return { row, files: exportFiles(parts, row.view_plan) };
}

const expiryOf = ({ ended_at, created_at }: StoredExport): Date =>
  new Date((ended_at ?? created_at).getTime() + FILES_KEPT_HOURS * 3_600_000);

async function* contentOf(
  blobs: BlobStore,
  { refs }: ExportFile,
): AsyncGenerator<Uint8Array> {
  for (const ref of refs) yield* await blobs.get(ref);
}

const auditExport = (
  tx: AccountTx,
  request: FastifyRequest,
  targetId: string,
  outcome: string,
): Promise<void> =>
  insertAuditEntry(tx, {
    actor: callerOf(request).actor,
    operation: request.routeOptions.config.operation ?? 'unknown',
    targetId,
    outcome,
    remoteAddress: request.ip,
  });
