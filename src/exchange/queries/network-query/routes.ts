import { isBackground } from '../../../contract/query-limits.ts';
import { requireAal2Session } from '../../people/identity/aal2-session.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { orNotFound } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import { explainChoices } from './fan-out/choice.ts';
import { listGateways, QUERY_GATEWAY_ORDER } from './fan-out/list-gateways.ts';
import {
  QUERY_ORDER,
  readScorecard,
  type StoredQueryView,
  serializeQueryStatus,
} from './query-store.ts';
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
    const background = isBackground(headers.priority);
    const query = {
      caller,
      request: body,
      purposeOfUse,
      aal2ChallengeId,
      background,
    };
    return startForPatient(tx, networkQueries, patientId, query);
  });

  operations.read('getNetworkQuery', async (tx, { params, caller }) => {
    const query = orNotFound(
      'Network query',
      await networkQueries.readQuery(tx, params.requestId),
    );
    return ok(serializeQueryStatus(query, caller.account.dialect));
  });

  operations.read('listNetworkQueries', async (tx, { query, caller }) => {
    const { patientId, status, source, startedAfter } = query;
    const running = status === 'processing' || status === 'in-progress';
    const filter = {
      patientId,
      status: running ? ('running' as const) : status,
      source,
      startedAfter,
    };
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
    const { requestId } = orNotFound(
      'Network query',
      await networkQueries.readQuery(tx, params.requestId),
    );
    return ok({
      requestId,
      timeline: await networkQueries.readTimeline(tx, requestId),
    });
  });

  operations.read('listNetworkQueryGateways', async (tx, { params, query }) => {
    const { requestId } = orNotFound(
      'Network query',
      await networkQueries.readQuery(tx, params.requestId),
    );
    const opened = openPage(
      deps,
      'listNetworkQueryGateways',
      { params, query },
      QUERY_GATEWAY_ORDER,
    );
    const filter = { requestId, state: query.state };
    const page = await listGateways(tx, filter, opened.request);
    return ok({ gateways: page.items, meta: opened.meta(page) });
  });

  operations.read(
    'getSourceScorecard',
    async (tx, { query: { from, to = new Date().toISOString() } }) => {
      const sources = await readScorecard(tx, [tx.accountId], {
        from: new Date(from),
        to: new Date(to),
      });
      return ok({ from, to, sources });
    },
  );

  operations.read('explainGateways', async (tx, { query }) => {
    const patient = orNotFound(
      'Patient',
      await findPatient(tx, query.patientId),
    );
    const choices = await explainChoices(tx, patient);
    return ok({ networks: choices.map(serializeChoice) });
  });

  operations.act('retrySource', async ({ params, caller }) =>
    statusAnswer(
      await networkQueries.retrySource(
        caller.account.id,
        params.requestId,
        params.type,
      ),
      caller,
    ),
  );

  operations.act('giveUpSource', async ({ params, caller }) =>
    statusAnswer(
      await networkQueries.giveUpSource(
        caller.account.id,
        params.requestId,
        params.type,
      ),
      caller,
    ),
  );

  operations.act('cancelNetworkQuery', async ({ params, caller }) =>
    statusAnswer(
      await networkQueries.cancelQuery(caller.account.id, params.requestId),
      caller,
    ),
  );
}

/** Starts a query for a patient of the account, and answers as E2 does. */
export async function startForPatient(
  tx: AccountTx,
  networkQueries: NetworkQueryService,
  patientId: string,
  query: Omit<Parameters<NetworkQueryService['startQuery']>[1], 'patient'>,
) {
  const patient = orNotFound('Patient', await findPatient(tx, patientId));
  const { answer, headers, launch } = await networkQueries.startQuery(tx, {
    ...query,
    patient,
  });
  return ok(answer, {
    headers,
    patientId: patient.id,
    targetId: answer.requestId,
    afterCommit: launch,
  });
}

const statusAnswer = (query: StoredQueryView, { account }: Caller) =>
  ok(serializeQueryStatus(query, account.dialect), {
    patientId: query.patientId,
    targetId: query.requestId,
  });

/** Without addresses of gateways: those are the network's. */
const serializeChoice = ({
  connection,
  chosen,
  leftOut,
}: Awaited<ReturnType<typeof explainChoices>>[number]) => {
  const { directory, withinMiles, gatewaysMax } = connection.settings.network;
  return {
    connection: connection.name,
    directory,
    withinMiles,
    gatewaysMax,
    chosen: chosen.map(({ homeCommunity, name, because, miles }) => ({
      homeCommunity,
      name,
      because,
      miles,
    })),
    leftOut: Object.fromEntries(
      Object.entries(leftOut).filter(([, gateways]) => gateways > 0),
    ),
  };
};
