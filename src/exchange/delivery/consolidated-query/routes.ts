import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { ConsolidatedQuery } from '../../../contract/consolidated-query.ts';
import {
  findPatient,
  lockPatient,
  type StoredPatient,
} from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { NotFoundError, orNotFound } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import {
  countStart,
  type StartLimit,
} from '../../platform/limits/limit-store.ts';
import { resourceOrigins } from '../../records/merge/resource-origins.ts';
import { joinDelivery, splitDelivery } from '../../records/merge/splits.ts';
import {
  type ConsolidatedFilter,
  consolidatedBundle,
  countConformance,
  countConsolidated,
} from '../../records/reading/read-consolidated.ts';
import { requireUnchanged } from '../../records/reading/record-store.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import {
  latestStatus,
  listRunningQueries,
  openConsolidatedQuery,
  readConsolidatedQuery,
  type StoredConsolidatedQuery,
} from './query-store.ts';
import { consolidatedResultUrl, RESULT_FORMATS } from './result-link.ts';
import type { ConsolidatedLauncher } from './transitions.ts';

/**
 * Default limit of starts per account and minute (docs/interface.md, "Limits").
 */
export const CONSOLIDATED_STARTS_PER_MINUTE = 120;
const LISTED_MAX = 500;
const HINT =
  'To start a new query, POST to /patient/:id/consolidated/query; its data is delivered by webhook (medical.consolidated-data).';

interface FilterQuery {
  resources?: string[];
  dateFrom?: string;
  dateTo?: string;
}
const filterOf = ({
  resources,
  dateFrom,
  dateTo,
}: FilterQuery): ConsolidatedFilter => ({
  types: resources,
  dateFrom,
  dateTo,
});

/**
 * The operations on consolidated data, such as "E13. Get consolidated data
 * query status".
 */
export function addConsolidatedRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'store' | 'publicBaseUrl' | 'links'> & {
    records: RecordKeeper;
    consolidatedQueries: Pick<ConsolidatedLauncher, 'launch'>;
  },
): void {
  /**
   * Brings a record up to date before it is read. Not in one transaction: a
   * slow reader must not hold a connection.
   */
  const openRecord = async (
    { account: { id: accountId } }: Caller,
    id: string,
  ) => {
    const { id: patientId } = await deps.store.asAccount(accountId, (tx) =>
      knownPatient(tx, id),
    );
    await deps.records.merge(accountId, patientId);
    return { accountId, patientId };
  };

  operations.write(
    'startConsolidatedQuery',
    async (tx, { params, query, body, caller }) => {
      await countStart(tx, limitOf(caller));
      const { id: patientId } = orNotFound(
        'Patient',
        await lockPatient(tx, params.id),
      );
      const { query: opened, isNew } = await openConsolidatedQuery(
        tx,
        uuidv7(),
        patientId,
        {
          ...query,
          metadata: body.metadata,
        },
      );
      const { accountId } = tx;
      return ok(serializeConsolidatedQuery(opened), {
        patientId,
        targetId: opened.requestId,
        ...(isNew && {
          afterCommit: () =>
            deps.consolidatedQueries.launch(accountId, opened.requestId),
        }),
      });
    },
  );

  operations.read('listConsolidatedQueries', async (tx, { params }) => {
    const { id: patientId } = await knownPatient(tx, params.id);
    const running = await listRunningQueries(tx, patientId, LISTED_MAX);
    return ok({
      status: (await latestStatus(tx, patientId)) ?? null,
      message: HINT,
      queries: running.map(serializeConsolidatedQuery),
    });
  });

  operations.read('getConsolidatedQuery', async (tx, { params }) => {
    const query = await readConsolidatedQuery(tx, params.requestId);
    if (query?.patientId !== params.id)
      throw new NotFoundError('Consolidated query');
    const { requestId, result } = query;
    const { accountId } = tx;
    return ok({
      ...serializeConsolidatedQuery(query),
      ...(result && {
        result: consolidatedResultUrl(deps.links, { accountId, requestId }),
      }),
    });
  });

  operations.act('getConsolidated', async ({ params, query, caller }) => {
    const { accountId, patientId } = await openRecord(caller, params.id);
    const bundle = consolidatedBundle(deps.store, {
      accountId,
      patientId,
      filter: filterOf(query),
      publicBaseUrl: deps.publicBaseUrl,
      type: 'searchset',
    });
    return {
      status: 200 as const,
      // The schema documents the JSON; the text is streamed without being
      // parsed.
      body: Readable.from(bundle) as unknown as {
        resourceType: 'Bundle';
        type: string;
      },
      headers: {
        'content-type': 'application/fhir+json; charset=utf-8',
        'cache-control': 'no-store',
      },
      patientId,
    };
  });

  operations.act('countConsolidated', async ({ params, query, caller }) => {
    const { accountId, patientId } = await openRecord(caller, params.id);
    const resources = await deps.store.asAccount(accountId, (tx) =>
      countConsolidated(tx, patientId, filterOf(query)),
    );
    const { dateFrom, dateTo } = query;
    return ok(
      {
        total: Object.values(resources).reduce((sum, count) => sum + count, 0),
        resources,
        filter: {
          resources: query.resources?.join(',') ?? 'all',
          dateFrom,
          dateTo,
        },
      },
      { patientId },
    );
  });

  operations.act('getRecordOrigins', async ({ params, caller }) => {
    const { accountId, patientId } = await openRecord(caller, params.id);
    const origins = await deps.store.asAccount(accountId, (tx) =>
      resourceOrigins(tx, patientId, params.resourceId),
    );
    return ok(origins, { patientId, targetId: params.resourceId });
  });

  operations.act('getRecordConformance', async ({ params, caller }) => {
    const { accountId, patientId } = await openRecord(caller, params.id);
    const count = await countConformance(deps.store, { accountId, patientId });
    return ok(count.report(patientId), { patientId });
  });

  operations.write('splitRecordResource', async (tx, { params, body }) => {
    const { id: patientId } = await knownPatient(tx, params.id);
    const own = await splitDelivery(tx, patientId, params.resourceId, body);
    return ok(own, { patientId, targetId: params.resourceId });
  });

  operations.write('joinRecordResource', async (tx, { params }) => {
    const { id: patientId } = await knownPatient(tx, params.id);
    const joined = await joinDelivery(tx, patientId, params.resourceId);
    return ok(joined, { patientId, targetId: params.resourceId });
  });
}

const knownPatient = async (
  tx: AccountTx,
  id: string,
): Promise<StoredPatient> => orNotFound('Patient', await findPatient(tx, id));

const limitOf = ({ account }: Caller): StartLimit => ({
  name: 'consolidated-query',
  what: 'consolidated queries',
  perMinute:
    account.settings.limits?.consolidatedQueriesPerMinute ??
    CONSOLIDATED_STARTS_PER_MINUTE,
});

const OPERATION = 'readConsolidatedResult';
/**
 * For summaries shown in a browser: no scripts, no external resources, no
 * framing.
 */
const SUMMARY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/**
 * The route behind the result URLs in `medical.consolidated-data`: the signed
 * link authorizes the request.
 */
export function addConsolidatedResultRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(
    app,
    deps,
    'consolidated-result',
    OPERATION,
    async (link, request, reply) => {
      const { accountId, targetId } = link;
      const { result, conversionType } = await deps.store.asAccount(
        accountId,
        async (tx) => {
          const query = await readConsolidatedQuery(tx, targetId);
          if (query?.result === undefined) throw new NotFoundError('Result');
          const { patientId } = query;
          await requireUnchanged(tx, query.endedAt ?? query.createdAt, {
            patientId,
          });
          await auditLink(tx, request, {
            operation: OPERATION,
            patientId: query.patientId,
            targetId,
          });
          return { result: query.result, conversionType: query.conversionType };
        },
      );
      if (conversionType === 'html')
        reply.header('content-security-policy', SUMMARY_POLICY);
      const { extension } = RESULT_FORMATS[conversionType];
      return (
        reply
          .type(result.contentType)
          // A generated name, so that no text of a source gets into the header.
          .header(
            'content-disposition',
            `inline; filename="medical-record-${targetId}.${extension}"`,
          )
          .header('content-length', result.sizeBytes)
          .send(await deps.blobs.get(result.ref))
      );
    },
  );
}

/** docs/interface.md, "E13. Get consolidated data query status". */
function serializeConsolidatedQuery(
  query: StoredConsolidatedQuery,
): ConsolidatedQuery {
  const {
    requestId,
    status,
    conversionType,
    resources,
    dateFrom,
    dateTo,
    reason,
    createdAt,
  } = query;
  return {
    requestId,
    status,
    conversionType,
    startedAt: `${createdAt.toISOString().slice(0, 19)}Z`,
    resources,
    dateFrom,
    dateTo,
    message: reason,
  };
}
