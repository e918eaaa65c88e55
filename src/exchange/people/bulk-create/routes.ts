import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { InvalidRequestError, NotFoundError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { facilityExists, listFacilities } from '../facilities/facility-store.ts';
import {
  BULK_REQUEST_ORDER,
  type BulkRequestView,
  insertBulkRequest,
  listBulkRequests,
  readBulkRequest,
} from './request-store.ts';
import { bulkResultUrl } from './result-link.ts';
import { serializeBulkCreate, serializeStartedBulkCreate } from './serializers.ts';
import type { BulkCreateService } from './service.ts';
import { UPLOAD_LIFETIME_MS } from './service.ts';

type BulkCreateDeps = Pick<GatewayPlatform, 'links' | 'publicBaseUrl' | 'linkSigningKey'> & {
  bulkCreates: BulkCreateService;
  /** The post-import queries, which report into the status of their bulk create. */
  querySweeps: {
    readCounts(tx: AccountTx, requestId: string): Promise<QuerySweepProgress | undefined>;
  };
};

/** E5 and the operations around it; the upload itself is in upload-route.ts. */
export function addBulkCreateRoutes(operations: Operations, deps: BulkCreateDeps): void {
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
    const uploadUrl = links.url('bulk-upload', { accountId, targetId: requestId }, UPLOAD_LIFETIME_MS);
    return ok(serializeStartedBulkCreate(request, uploadUrl), {
      targetId: requestId,
      afterCommit: () => bulkCreates.launch(accountId, requestId),
    });
  });

  operations.read('getBulkCreate', async (tx, { params }) => {
    const request = await readBulkRequest(tx, params.requestId);
    if (request === undefined) throw new NotFoundError('Bulk create');
    return ok(statusAnswer(request, tx.accountId, await querySweeps.readCounts(tx, request.requestId)));
  });

  operations.read('listBulkCreates', async (tx, { query }) => {
    const opened = openPage(deps, 'listBulkCreates', { query }, BULK_REQUEST_ORDER);
    const page = await listBulkRequests(tx, opened.request);
    const bulkCreates = page.items.map((request) => serializeBulkCreate(request));
    return ok({ bulkCreates, meta: opened.meta(page) });
  });

  operations.act('pauseBulkCreate', async ({ params, caller }) =>
    controlAnswer(await bulkCreates.pauseBulkCreate(caller.account.id, params.requestId), caller),
  );

  operations.act('resumeBulkCreate', async ({ params, caller }) =>
    controlAnswer(await bulkCreates.resumeBulkCreate(caller.account.id, params.requestId), caller),
  );

  operations.act('cancelBulkCreate', async ({ params, caller }) =>
    controlAnswer(await bulkCreates.cancelBulkCreate(caller.account.id, params.requestId), caller),
  );

  const controlAnswer = (request: BulkRequestView, { account }: Caller) =>
    ok(statusAnswer(request, account.id), { targetId: request.requestId });

  /** Each answer carries a new link to the result, so an expired link can always be replaced. */
  function statusAnswer(request: BulkRequestView, accountId: string, sweep?: QuerySweepProgress) {
    const { status, requestId } = request;
    const result =
      status === 'completed' && request.result !== undefined
        ? bulkResultUrl(links, { accountId, requestId })
        : undefined;
    return serializeBulkCreate(request, result, sweep);
  }
}

/** The facility of E5 (docs/interface.md): 404 for an unknown one, 400 when none is named and the account has several. */
async function facilityOf(tx: AccountTx, facilityId: string | undefined): Promise<string> {
  if (facilityId !== undefined) {
    if (isUuid(facilityId) && (await facilityExists(tx, facilityId))) return facilityId;
    throw new NotFoundError('Facility');
  }
  const [only, ...others] = await listFacilities(tx);
  if (only === undefined) throw new NotFoundError('Facility');
  if (others.length === 0) return only.id;
  const message = `is required: the account has ${others.length + 1} facilities`;
  throw new InvalidRequestError([{ path: 'facilityId', message }]);
}
