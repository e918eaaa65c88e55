import { isBackground } from '../../../contract/query-limits.ts';
import { ForbiddenError, InvalidRequestError, NotFoundError } from '../../errors.ts';
import { QUERY_ORDER, type QueryView } from '../../store/network-queries.ts';
import { findPatient } from '../../store/patients.ts';
import { queryStatusAnswer } from '../answers.ts';
import type { GatewayDeps } from '../deps.ts';
import { type Endpoints, type OperationRequest, ok } from '../operation.ts';
import type { Operations } from '../operations.ts';
import { openPage } from '../paging.ts';
import type { Caller } from '../plugins/auth.ts';
import { startQuery } from './start-query.ts';

export function addNetworkQueryRoutes(
  operations: Operations,
  deps: Pick<GatewayDeps, 'networkQueries' | 'publicBaseUrl' | 'linkSigningKey'>,
): void {
  const { networkQueries } = deps;

  operations.write('startNetworkQuery', async (tx, request) => {
    if (request.query.purposeOfUse === 'ias') refuseIas(request);
    const patient = await findPatient(tx, request.query.patientId);
    if (patient === undefined) throw new NotFoundError('Patient');
    const { caller, body } = request;
    const { purposeOfUse } = request.query;
    const background = isBackground(request.headers.priority);
    const started = await startQuery(tx, deps, { caller, patient, request: body, purposeOfUse, background });
    return ok(started.answer, {
      headers: started.headers,
      patientId: patient.id,
      targetId: started.answer.requestId,
      afterCommit: started.launch,
    });
  });

  operations.read('getNetworkQuery', async (tx, { params, caller }) => {
    const query = await found(networkQueries.readQuery(tx, params.requestId));
    return ok(queryStatusAnswer(query, caller.account.dialect));
  });

  operations.read('listNetworkQueries', async (tx, { query, caller }) => {
    const { patientId, status, source, startedAfter } = query;
    const running = status === 'processing' || status === 'in-progress';
    const filter = { patientId, status: running ? ('running' as const) : status, source, startedAfter };
    const opened = openPage(deps, 'listNetworkQueries', { query }, QUERY_ORDER);
    const page = await networkQueries.listQueries(tx, filter, opened.request);
    return ok({
      queries: page.items.map((item) => ({
        ...queryStatusAnswer(item, caller.account.dialect),
        metadata: item.metadata ?? undefined,
      })),
      meta: opened.meta(page),
    });
  });

  operations.read('getNetworkQueryTimeline', async (tx, { params }) => {
    const { requestId } = await found(networkQueries.readQuery(tx, params.requestId));
    return ok({ requestId, timeline: await networkQueries.readTimeline(tx, requestId) });
  });

  operations.act('retrySource', async ({ params, caller }) =>
    controlled(await networkQueries.retrySource(caller.account.id, params.requestId, params.type), caller),
  );

  operations.act('giveUpSource', async ({ params, caller }) =>
    controlled(await networkQueries.giveUpSource(caller.account.id, params.requestId, params.type), caller),
  );

  operations.act('cancelNetworkQuery', async ({ params, caller }) =>
    controlled(await networkQueries.cancelQuery(caller.account.id, params.requestId), caller),
  );
}

const controlled = (query: QueryView, { account }: Caller) =>
  ok(queryStatusAnswer(query, account.dialect), { patientId: query.patientId, targetId: query.requestId });

/**
 * Individual access needs a verified identity and an active session of it (E2). No sessions are given out yet, so
 * none that a caller shows can be known.
 */
function refuseIas({ headers, body }: OperationRequest<Endpoints['startNetworkQuery']>): never {
  const missing = [];
  if (body.proofedIdentityId === undefined) {
    missing.push({ path: 'proofedIdentityId', message: 'is required when purposeOfUse is ias' });
  }
  if (headers['x-aal2-session'] === undefined) {
    missing.push({ path: 'x-aal2-session', message: 'this header is required when purposeOfUse is ias' });
  }
  if (missing.length > 0) throw new InvalidRequestError(missing);
  throw new ForbiddenError('The session is unknown, has expired or belongs to somebody else');
}

async function found(query: ReturnType<GatewayDeps['networkQueries']['readQuery']>): Promise<QueryView> {
  const view = await query;
  if (view === undefined) throw new NotFoundError('Network query');
  return view;
}
