import type { FastifyInstance, FastifyRequest } from 'fastify';
import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import {
  type BulkCreateStatusResponse,
  type BulkPatientCreate,
  UPLOAD_BYTES_MAX,
} from '../../../contract/bulk-create.ts';
import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { lookOn } from '../../platform/database/connections.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
} from '../../platform/errors.ts';
import { type Caller, callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import {
  createUploads,
  discardBody,
  UPLOAD_BYTES_A_MINUTE,
  type UploadLimits,
} from '../../platform/http/upload-body.ts';
import {
  type LinkMaker,
  type LinkTarget,
  verifyLink,
} from '../../platform/links/signed-link.ts';
import {
  facilityExists,
  listFacilities,
} from '../facilities/facility-store.ts';
import {
  BULK_REQUEST_ORDER,
  type BulkRequestView,
  insertBulkRequest,
  listBulkRequests,
  readBulkRequest,
} from './request-store.ts';
import { bulkPace } from './rules/bulk-pace.ts';
import { type BulkCreateService, UPLOAD_LIFETIME_MS } from './service.ts';

type BulkCreateDeps = Pick<
  GatewayPlatform,
  'links' | 'publicBaseUrl' | 'linkSigningKey'
> & {
  bulkCreates: BulkCreateService;
  /**
   * The post-import queries, which report into the status of their bulk create.
   */
  querySweeps: {
    readCounts(
      tx: AccountTx,
      requestId: string,
    ): Promise<QuerySweepProgress | undefined>;
  };
};

/** E5 and the operations around it. */
export function addBulkCreateRoutes(
  operations: Operations,
  deps: BulkCreateDeps,
): void {
  const { bulkCreates, querySweeps, links } = deps;

  operations.write('startBulkCreate', async (tx, { query }) => {
    const facilityId = await facilityOf(tx, query.facilityId);
    const { accountId } = tx;
    const requestId = uuidv7();
    const { dryRun } = query;
    const request = await insertBulkRequest(tx, {
      id: requestId,
      facilityId,
      dryRun,
      uploadLifetimeMs: UPLOAD_LIFETIME_MS,
    });
    const uploadUrl = links.url(
      'bulk-upload',
      { accountId, targetId: requestId },
      UPLOAD_LIFETIME_MS,
    );
    return ok(serializeStartedBulkCreate(request, uploadUrl), {
      targetId: requestId,
      afterCommit: () => bulkCreates.launch(accountId, requestId),
    });
  });

  operations.read('getBulkCreate', async (tx, { params }) => {
    lookOn(tx);
    const request = await readBulkRequest(tx, params.requestId);
    if (request === undefined) throw new NotFoundError('Bulk create');
    return ok(
      statusAnswer(
        request,
        tx.accountId,
        await querySweeps.readCounts(tx, request.requestId),
      ),
    );
  });

  operations.read('listBulkCreates', async (tx, { query }) => {
    const opened = openPage(
      deps,
      'listBulkCreates',
      { query },
      BULK_REQUEST_ORDER,
    );
    const page = await listBulkRequests(tx, opened.request);
    const bulkCreates = page.items.map((request) =>
      serializeBulkCreate(request),
    );
    return ok({ bulkCreates, meta: opened.meta(page) });
  });

  operations.act('pauseBulkCreate', async ({ params, caller }) =>
    controlAnswer(
      await bulkCreates.pauseBulkCreate(caller.account.id, params.requestId),
      caller,
    ),
  );

  operations.act('resumeBulkCreate', async ({ params, caller }) =>
    controlAnswer(
      await bulkCreates.resumeBulkCreate(caller.account.id, params.requestId),
      caller,
    ),
  );

  operations.act('cancelBulkCreate', async ({ params, caller }) =>
    controlAnswer(
      await bulkCreates.cancelBulkCreate(caller.account.id, params.requestId),
      caller,
    ),
  );

  const controlAnswer = (request: BulkRequestView, { account }: Caller) =>
    ok(statusAnswer(request, account.id), { targetId: request.requestId });

  /**
   * Each answer carries a new link to the result, so an expired link can always
   * be replaced.
   */
  function statusAnswer(
    request: BulkRequestView,
    accountId: string,
    sweep?: QuerySweepProgress,
  ) {
    const { status, requestId } = request;
    const result =
      status === 'completed' && request.result !== undefined
        ? bulkResultUrl(links, { accountId, requestId })
        : undefined;
    return serializeBulkCreate(request, result, sweep);
  }
}

/**
 * The facility of E5 (docs/interface.md): 404 for an unknown one, 400 when none
 * is named and the account has several.
 */
async function facilityOf(
  tx: AccountTx,
  facilityId: string | undefined,
): Promise<string> {
  if (facilityId !== undefined) {
    if (isUuid(facilityId) && (await facilityExists(tx, facilityId)))
      return facilityId;
    throw new NotFoundError('Facility');
  }
  const [only, ...others] = await listFacilities(tx);
  if (only === undefined) throw new NotFoundError('Facility');
  if (others.length === 0) return only.id;
  const message = `is required: the account has ${others.length + 1} facilities`;
  throw new InvalidRequestError([{ path: 'facilityId', message }]);
}

/** A bulk create as E5 returns it. */
const serializeStartedBulkCreate = (
  request: BulkRequestView,
  uploadUrl: string,
): BulkPatientCreate => ({
  ...commonOf(request),
  status: 'waiting',
  uploadUrl,
});

/**
 * A bulk create as the operations around E5 return it.
 *
 * @param result link to the result CSV of a completed request
 * @param sweep progress of the post-import queries, once they have begun
 */
function serializeBulkCreate(
  request: BulkRequestView,
  result?: string,
  sweep?: QuerySweepProgress,
): BulkCreateStatusResponse {
  const { status, paused, counts, reason } = request;
  return {
    ...commonOf(request),
    status,
    paused: paused || undefined,
    counts,
    ...bulkPace(request),
    result,
    reason,
    sweep,
  };
}

const commonOf = ({
  requestId,
  facilityId,
  dryRun,
  createdAt,
}: BulkRequestView) => ({
  requestId,
  facilityId,
  params: { dryRun },
  createdAt: createdAt.toISOString(),
});

const RESULT_OPERATION = 'readBulkResult';

/**
 * Serves the result CSV of a completed bulk create; the signed link is the
 * permission.
 */
export function addBulkResultRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(
    app,
    deps,
    'bulk-result',
    RESULT_OPERATION,
    async (link, request, reply) => {
      const { accountId, targetId: requestId } = link;
      const result = await deps.store.asAccount(accountId, async (tx) => {
        const bulkCreate = await readBulkRequest(tx, requestId);
        if (
          bulkCreate?.status !== 'completed' ||
          bulkCreate.result === undefined
        )
          throw new NotFoundError('Result');
        await auditLink(tx, request, {
          operation: RESULT_OPERATION,
          targetId: requestId,
        });
        return bulkCreate.result;
      });
      return (
        reply
          .type('text/csv; charset=utf-8')
          // The file name is made from the id alone, so no input of a caller
          // gets into the header.
          .header(
            'content-disposition',
            `attachment; filename="bulk-patient-create-${requestId}.csv"`,
          )
          .header('content-length', result.sizeBytes)
          .send(await deps.blobs.get(result.ref))
      );
    },
  );
}

/**
 * Long enough for the receiver of a webhook. Reading the status of the bulk
 * create returns a new link at any time.
 */
const RESULT_LINK_MS = 60 * 60_000;

/** A link to the result CSV of a completed bulk create. */
export const bulkResultUrl = (
  links: LinkMaker,
  { accountId, requestId }: { accountId: string; requestId: string },
): string =>
  links.url('bulk-result', { accountId, targetId: requestId }, RESULT_LINK_MS);

const UPLOAD_OPERATION = 'uploadBulkCreate';
const LIMITS: UploadLimits = {
  bytesMax: UPLOAD_BYTES_MAX,
  idleMs: 60_000,
  idleBytes: UPLOAD_BYTES_A_MINUTE,
  totalMs: 60 * 60_000,
};

type UploadDeps = Pick<GatewayPlatform, 'linkSigningKey'> & {
  bulkCreates: BulkCreateService;
};

/**
 * `PUT {uploadUrl}` of E5. The link names the request, and the API key must
 * belong to its account. The request's row decides whether the file is
 * accepted, so a caller with an expired link still learns the outcome of an
 * earlier upload.
 */
export function addBulkUploadRoute(
  app: FastifyInstance,
  deps: UploadDeps,
  limits: Partial<UploadLimits> = {},
): void {
  const uploads = createUploads({ ...LIMITS, ...limits });
  app.removeAllContentTypeParsers();
  // The body stays a stream, whatever its Content-Type.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.put<{ Params: { token: string } }>(
    '/links/bulk-upload/:token',
    { schema: { hide: true }, config: { operation: UPLOAD_OPERATION } },
    async (request, reply) => {
      const { accountId, targetId: requestId } = targetOf(
        request,
        deps.linkSigningKey,
      );
      const address = { accountId, targetId: requestId };
      return uploads(request, address, async (open) => {
        checkContentType(request);
        const upload = await deps.bulkCreates.receiveUpload(
          { accountId, requestId },
          open(),
          (tx) => audit(tx, request, requestId, 200),
        );
        deps.bulkCreates.announceUpload(accountId, requestId);
        return reply.send(upload);
      });
    },
  );
}

/**
 * The request that the link names. Throws 404 for an invalid link, and for
 * another account's, whose existence is not revealed.
 */
function targetOf(
  request: FastifyRequest<{ Params: { token: string } }>,
  signingKey: string,
): LinkTarget {
  const link = verifyLink(signingKey, 'bulk-upload', request.params.token);
  if (
    link.kind !== 'invalid' &&
    link.accountId === callerOf(request).account.id
  ) {
    request.refusalNotes = { targetId: link.targetId };
    return link;
  }
  discardBody(request.raw);
  throw new NotFoundError('Upload URL');
}

function checkContentType({ headers }: FastifyRequest): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'text/csv')
    throw new ExchangeError(415, 'The Content-Type must be text/csv');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new ExchangeError(
      415,
      'The file must be sent without Content-Encoding',
    );
}

const audit = (
  tx: AccountTx,
  request: FastifyRequest,
  requestId: string,
  status: number,
): Promise<void> =>
  insertAuditEntry(tx, {
    actor: callerOf(request).actor,
    operation: UPLOAD_OPERATION,
    targetId: requestId,
    outcome: String(status),
    remoteAddress: request.ip,
  });
