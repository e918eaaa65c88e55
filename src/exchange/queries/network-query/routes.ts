import { isBackground } from '../../../contract/query-limits.ts';
import { requireAal2Session } from '../../people/identity/aal2-session.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import { NotFoundError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok, orNotFound } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { QUERY_ORDER, type QueryView, serializeQueryStatus } from './query-store.ts';
import type { NetworkQueryService } from './service.ts';

/** E2, E3 and the operations around them; see docs/interface.md. */
export function addNetworkQueryRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey' | 'clock'> & {
    networkQueries: NetworkQueryService;
  },
): void {
  const { networkQueries } = deps;

  operations.write('startNetworkQuery', async (tx, request) => {
    const { caller, body, headers } = request;
    const { purposeOfUse, patientId } = request.query;
    const aal2ChallengeId =
      purposeOfUse === 'ias'
        ? await requireAal2Session(
            tx,
            {
              sessionId: headers['x-aal2-session'],
              proofedIdentityId: body.proofedIdentityId,
              patientId,
            },
            deps.clock?.() ?? new Date(),
          )
        : undefined;
    const patient = await findPatient(tx, patientId);
    if (patient === undefined) throw new NotFoundError('Patient');
    const background = isBackground(headers.priority);
    const started = await deps.networkQueries.startQuery(tx, {
      caller,
      patient,
      request: body,
      purposeOfUse,
      aal2ChallengeId,
      background,
    });
    return ok(started.answer, {
      headers: started.headers,
      patientId: patient.id,
      targetId: started.answer.requestId,
      afterCommit: started.launch,
    });
  });

  operations.read('getNetworkQuery', async (tx, { params, caller }) => {
    const query = orNotFound('Network query', await networkQueries.readQuery(tx, params.requestId));
    return ok(serializeQueryStatus(query, caller.account.dialect));
  });

  operations.read('listNetworkQueries', async (tx, { query, caller }) => {
    const { patientId, status, source, startedAfter } = query;
    const running = status === 'processing' || status === 'in-progress';
    const filter = { patientId, status: running ? ('running' as const) : status, source, startedAfter };
    const opened = openPage(deps, 'listNetworkQueries', { query }, QUERY_ORDER);
    const page = await networkQueries.listQueries(tx, filter, opened.request);
    return ok({
      queries: page.items.map((item) => ({
        ...serializeQueryStatus(item, caller.account.dialect),
        metadata: item.metadata ?? undefined,
      })),
      meta: opened.meta(page),
    });
  });

  operations.read('getNetworkQueryTimeline', async (tx, { params }) => {
    const { requestId } = orNotFound('Network query', await networkQueries.readQuery(tx, params.requestId));
    return ok({ requestId, timeline: await networkQueries.readTimeline(tx, requestId) });
  });

  operations.act('retrySource', async ({ params, caller }) =>
    statusAnswer(await networkQueries.retrySource(caller.account.id, params.requestId, params.type), caller),
  );

  operations.act('giveUpSource', async ({ params, caller }) =>
    statusAnswer(await networkQueries.giveUpSource(caller.account.id, params.requestId, params.type), caller),
  );

  operations.act('cancelNetworkQuery', async ({ params, caller }) =>
    statusAnswer(await networkQueries.cancelQuery(caller.account.id, params.requestId), caller),
  );
}

const statusAnswer = (query: QueryView, { account }: Caller) =>
  ok(serializeQueryStatus(query, account.dialect), { patientId: query.patientId, targetId: query.requestId });
