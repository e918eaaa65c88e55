import { v7 as uuidv7 } from 'uuid';
import type { networkDirectoryEndpoints } from '../../../../src/contract/network-directory.ts';
import type { networkQueryEndpoints } from '../../../../src/contract/network-query.ts';
import type { queryRedriveEndpoints } from '../../../../src/contract/query-redrive.ts';
import {
  badBody,
  badPages,
  badQuery,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

const many = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, key) => [`k${key}`, 'v']),
  );

const running = async ({ make }: World) => make.query(await make.patient());

/** A query whose hie source has failed and whose lab source has completed. */
async function ended(world: World): Promise<string> {
  const requestId = await running(world);
  await world.inAccount(async ({ db }) => {
    const completed_at = new Date();
    const attempts = db
      .updateTable('network_query_attempt')
      .where('query_id', '=', requestId);
    await attempts
      .where('source', '=', 'hie')
      .set({ status: 'failed', completed_at })
      .execute();
    await attempts
      .where('source', '=', 'lab')
      .set({ status: 'completed', completed_at })
      .execute();
    const ended_at = completed_at;
    await db
      .updateTable('network_query_run')
      .set({ ended_at })
      .where('query_id', '=', requestId)
      .execute();
    await db
      .updateTable('network_query')
      .set({ status: 'partial', ended_at })
      .where('id', '=', requestId)
      .execute();
  });
  return requestId;
}

/** A query that so many gateways have answered. */
export async function queryOfGateways(
  world: World,
  gateways: number,
): Promise<string> {
  const patientId = await world.make.patient();
  const requestId = await world.make.query(patientId);
  await world.inAccount(({ accountId, db }) =>
    db
      .insertInto('gateway_ask')
      .values(
        Array.from({ length: gateways }, (_, place) => ({
          query_id: requestId,
          source: 'hie' as const,
          attempt: 1,
          gateway_id: uuidv7(),
          account_id: accountId,
          patient_id: patientId,
          connection_id: uuidv7(),
          home_community: `2.999.${place}`,
          place,
          because: 'near' as const,
          state: 'nobody' as const,
          tries: 1,
          ended_at: new Date(),
        })),
      )
      .execute(),
  );
  return requestId;
}

const refusedSource = (
  what: string,
  of: (world: World) => Promise<string>,
  type: string,
  message: string,
): Refused => ({
  what,
  status: 409,
  send: async (world) => ({ params: { requestId: await of(world), type } }),
  message,
});
const unknownSource: Refused = {
  what: 'a source that does not exist',
  status: 400,
  send: (_world, good) => ({ params: { ...good.params, type: 'xray' } }),
  path: 'type',
  message: 'expected one of',
};

const FAILED_FROM = '2026-01-01T00:00:00.000Z';

/**
 * A redrive of the pharmacy source that has not been started at Temporal; the
 * one before it is ended.
 */
async function redrive(
  { make, inAccount }: World,
  state: 'running' | 'completed' = 'running',
) {
  const ended_at = new Date();
  const end = (to: 'completed' | 'cancelled') =>
    inAccount(({ db }) =>
      db
        .updateTable('query_redrive')
        .set({ state: to, ended_at })
        .where('ended_at', 'is', null)
        .execute(),
    );
  await end('cancelled');
  const body = { source: 'pharmacy', failedFrom: FAILED_FROM };
  const { requestId } = await make.call('POST', 'network/redrive', body);
  if (state === 'completed') await end('completed');
  return { params: { requestId } };
}

export const networkQueryCases: Record<
  keyof (typeof networkQueryEndpoints &
    typeof networkDirectoryEndpoints &
    typeof queryRedriveEndpoints),
  OperationCases
> = {
  redriveQueries: {
    good: async (world) => {
      await redrive(world, 'completed');
      await ended(world);
      return { body: { source: 'hie', failedFrom: FAILED_FROM, dryRun: true } };
    },
    more: [
      {
        what: 'one that is started',
        status: 200,
        send: async (world) => {
          await redrive(world, 'completed');
          return {
            body: {
              source: 'lab',
              failedFrom: FAILED_FROM,
              reason: 'no such reason',
            },
          };
        },
        has: { state: 'running', source: 'lab', queries: 0, retried: 0 },
      },
    ],
    refused: [
      {
        what: 'one of a source of which another is running',
        status: 409,
        send: async (world) => {
          await redrive(world);
          return { body: { source: 'pharmacy', failedFrom: FAILED_FROM } };
        },
        message: 'Another redrive of the pharmacy source is running',
      },
      badBody(
        { failedFrom: '2126-01-01T00:00:00Z' },
        'failedFrom',
        'must be before failedTo',
      ),
      badBody({ source: 'xray' }, 'source', 'expected one of'),
      badBody({ reason: 'x'.repeat(100_000) }, 'reason', 'at most'),
    ],
  },
  getQueryRedrive: { good: (world) => redrive(world) },
  cancelQueryRedrive: {
    good: (world) => redrive(world),
    refused: [
      {
        what: 'one that has ended',
        status: 409,
        send: (world) => redrive(world, 'completed'),
        message: 'The redrive has ended (completed)',
      },
    ],
  },
  startNetworkQuery: {
    good: async ({ make }) => ({
      query: { patientId: await make.patient(), purposeOfUse: 'treatment' },
      body: {
        sources: {
          hie: { enabled: true },
          pharmacy: { enabled: true, realtime: true },
          lab: { enabled: false },
        },
        metadata: { ...many(49), ['k'.repeat(40)]: 'v'.repeat(500) },
      },
    }),
    more: [
      {
        what: 'the legacy array of sources',
        status: 200,
        send: async ({ make }) => ({
          query: { patientId: await make.patient() },
          body: { sources: ['pharmacy', 'lab'] },
        }),
        has: {
          status: 'processing',
          sources: [
            { type: 'pharmacy', status: 'processing' },
            { type: 'lab', status: 'processing' },
          ],
        },
      },
    ],
    refused: [
      badQuery({ patientId: undefined }, 'patientId', 'patientId is required'),
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      badQuery({ purposeOfUse: 'payment' }, 'purposeOfUse', 'expected one of'),
      badBody({ sources: undefined }, 'sources', 'sources is required'),
      badBody(
        { sources: {} },
        'sources',
        'at least one source must be enabled',
      ),
      badBody(
        { sources: [] },
        'sources',
        'at least one source must be enabled',
      ),
      badBody(
        { sources: { lab: { enabled: false } } },
        'sources',
        'at least one source must be enabled',
      ),
      badBody({ sources: { hie: {} } }, 'sources.hie.enabled', 'is required'),
      badBody(
        { sources: { xray: { enabled: true } } },
        'sources',
        'unknown source: xray; supported sources are hie, pharmacy, lab',
      ),
      badBody({ sources: ['xray'] }, 'sources[0]', 'expected one of'),
      badBody(
        { sources: { pharmacy: { enabled: true, realtme: true } } },
        'sources.pharmacy',
        'unknown member realtme; did you mean realtime?',
      ),
      badBody(
        { sources: { lab: { enabled: true, realtime: true } } },
        'sources.lab',
        'unknown member realtime',
      ),
      badBody({ sources: 'hie' }, 'sources', ''),
      badBody({ metadata: many(51) }, 'metadata', 'at most 50 entries'),
      badBody(
        { metadata: { ['k'.repeat(41)]: 'v' } },
        `metadata.${'k'.repeat(41)}`,
        'at most 40 characters',
      ),
      badBody(
        { metadata: { k: 'v'.repeat(501) } },
        'metadata.k',
        'at most 500 characters',
      ),
      badBody({ metadata: { k: 1 } }, 'metadata.k', 'must be a string'),
      {
        what: 'an unknown patient',
        status: 404,
        send: (_world, good) => ({ ...good, query: { patientId: NO_ID } }),
        message: 'Patient not found',
      },
      {
        what: 'purpose ias without a session',
        status: 400,
        send: (_world, good) => ({
          query: { ...good.query, purposeOfUse: 'ias' },
          body: { sources: ['hie'], proofedIdentityId: NO_ID },
        }),
        path: 'x-aal2-session',
        message: 'required',
      },
      {
        what: 'purpose ias without a verified identity',
        status: 400,
        send: (_world, good) => ({
          query: { ...good.query, purposeOfUse: 'ias' },
          headers: { 'x-aal2-session': 'unknown' },
          body: { sources: ['hie'] },
        }),
        path: 'proofedIdentityId',
        message: 'required',
      },
      {
        what: 'purpose ias under an unknown session',
        status: 403,
        send: (_world, good) => ({
          query: { ...good.query, purposeOfUse: 'ias' },
          headers: { 'x-aal2-session': 'unknown' },
          body: { sources: ['hie'], proofedIdentityId: NO_ID },
        }),
        message: 'session',
      },
    ],
  },
  getNetworkQuery: {
    good: async (world) => ({ params: { requestId: await running(world) } }),
    more: [
      {
        what: 'an ended query',
        status: 200,
        send: async (world) => ({ params: { requestId: await ended(world) } }),
        has: { status: 'partial' },
      },
    ],
  },
  listNetworkQueries: {
    good: async ({ make }) => {
      const patientId = await make.patient();
      await make.query(patientId);
      const startedAfter = '2020-01-01T00:00:00-05:00';
      return {
        query: {
          patientId,
          status: 'in-progress',
          source: 'lab',
          startedAfter,
          sort: 'startedAt=asc',
        },
      };
    },
    refused: [
      ...badPages(),
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      badQuery({ status: 'open' }, 'status', 'expected one of'),
      badQuery({ source: 'xray' }, 'source', 'expected one of'),
      badQuery({ startedAfter: 'yesterday' }, 'startedAfter', ''),
    ],
  },
  searchDirectory: {
    good: () => ({ query: { state: 'or', name: 'general', output: 'fhir' } }),
    refused: [
      badQuery({ state: 'Oregon' }, 'state', 'two-letter code'),
      badQuery({ zip: '97201-1234' }, 'zip', '1 to 5 digits'),
      badQuery({ count: 501 }, 'count', '500'),
    ],
  },
  explainGateways: {
    good: async ({ make }) => ({ query: { patientId: await make.patient() } }),
    refused: [
      badQuery({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      {
        what: 'a patient that the account does not have',
        status: 404,
        send: () => ({ query: { patientId: NO_ID } }),
        message: 'Patient not found',
      },
    ],
  },
  getSourceScorecard: {
    good: async (world) => {
      await ended(world);
      return { query: { from: FAILED_FROM } };
    },
    refused: [
      badQuery({ from: 'yesterday' }, 'from', ''),
      badQuery(
        { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' },
        'to',
        'must be after from',
      ),
    ],
  },
  getNetworkQueryTimeline: {
    good: async (world) => ({ params: { requestId: await ended(world) } }),
  },
  listNetworkQueryGateways: {
    good: async (world) => ({
      params: { requestId: await queryOfGateways(world, 2) },
      query: { state: 'nobody', sort: 'id=asc' },
    }),
    refused: [
      ...badPages(),
      badQuery({ state: 'unknown' }, 'state', 'expected one of'),
    ],
  },
  retrySource: {
    good: async (world) => ({
      params: { requestId: await ended(world), type: 'hie' },
    }),
    refused: [
      refusedSource('a source that runs', running, 'hie', 'still running'),
      refusedSource(
        'a source that has completed',
        ended,
        'lab',
        'has completed',
      ),
      refusedSource(
        'a source that was not asked',
        ended,
        'pharmacy',
        'is not part of this query',
      ),
      unknownSource,
    ],
  },
  giveUpSource: {
    good: async (world) => ({
      params: { requestId: await running(world), type: 'hie' },
    }),
    refused: [
      refusedSource('a source that has ended', ended, 'hie', 'is not running'),
      refusedSource(
        'a source that was not asked',
        running,
        'pharmacy',
        'is not running',
      ),
      unknownSource,
    ],
  },
  cancelNetworkQuery: {
    good: async (world) => ({ params: { requestId: await running(world) } }),
    refused: [
      {
        what: 'an ended query',
        status: 409,
        send: async (world) => ({ params: { requestId: await ended(world) } }),
        message: 'has ended (partial)',
      },
    ],
  },
};
