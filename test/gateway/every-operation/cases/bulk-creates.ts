import type { bulkCreateEndpoints } from '../../../../src/contract/bulk-create.ts';
import type { querySweepEndpoints } from '../../../../src/contract/query-sweep.ts';
import type { BulkRequestState } from '../../../../src/exchange/people/bulk-create/tables.ts';
import type { SweepState } from '../../../../src/exchange/queries/sweep/tables.ts';
import {
  badPages,
  badQuery,
  NO_ID,
  type OperationCases,
  type Refused,
  type Sent,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

export async function bulkIn(
  world: World,
  status: BulkRequestState,
  paused = false,
): Promise<Sent> {
  const { make, account, blobs } = world;
  const { requestId } = await make.call(
    'POST',
    `patient/bulk?facilityId=${account.facilityId}`,
  );
  const blob = await blobs.put(
    'upload',
    Buffer.from('firstName\n'),
    'text/csv',
  );
  const ended = status !== 'waiting' && status !== 'processing';
  const taken = status !== 'waiting' && status !== 'expired';
  await world.inAccount(({ db }) =>
    db
      .updateTable('bulk_request')
      .set({
        status,
        paused,
        ...(taken && { upload: JSON.stringify(blob), uploaded_at: new Date() }),
        ...(status === 'completed' && { result: JSON.stringify(blob) }),
        ...(status === 'failed' && { reason: 'no header' }),
        ...(ended && { ended_at: new Date() }),
      })
      .where('id', '=', requestId)
      .execute(),
  );
  return { params: { requestId } };
}

async function sweepIn(world: World, state: SweepState): Promise<Sent> {
  const sent = await bulkIn(world, 'completed');
  const request_id = sent.params?.requestId ?? '';
  await world.inAccount(({ db, accountId }) =>
    db
      .insertInto('bulk_sweep')
      .values({ request_id, account_id: accountId, state, patients: 3 })
      .execute(),
  );
  return sent;
}

const refusedBulk = (
  status: BulkRequestState,
  message: string,
  paused = false,
): Refused => ({
  what: `one that is ${status}${paused ? ' and paused' : ''}`,
  status: 409,
  send: (world) => bulkIn(world, status, paused),
  message,
});
const refusedSweep = (state: SweepState): Refused => ({
  what: `a sweep that is ${state}`,
  status: 409,
  send: (world) => sweepIn(world, state),
  message: `have ended (${state})`,
});
const noSweep: Refused = {
  what: 'a bulk create without a sweep',
  status: 404,
  send: (world) => bulkIn(world, 'processing'),
  message: 'Post-import queries of this bulk create not found',
};

export const bulkCreateCases: Record<
  keyof (typeof bulkCreateEndpoints & typeof querySweepEndpoints),
  OperationCases
> = {
  startBulkCreate: {
    good: ({ account }) => ({
      query: { facilityId: account.facilityId, dryRun: true },
      body: 'is not {read}',
    }),
    refused: [
      {
        what: 'an unknown facility',
        status: 404,
        send: () => ({ query: { facilityId: NO_ID } }),
        message: 'Facility not found',
      },
      {
        what: 'a facility that is no id',
        status: 404,
        send: () => ({ query: { facilityId: 'main' } }),
        message: 'Facility not found',
      },
      {
        what: 'no facility, of several',
        status: 400,
        send: async ({ make }) => {
          await make.facility();
          return {};
        },
        path: 'facilityId',
        message: 'is required: the account has',
      },
      badQuery({ facilityId: '' }, 'facilityId', 'is empty'),
      badQuery({ dryRun: 'maybe' }, 'dryRun', 'expected true or false'),
    ],
  },
  getBulkCreate: {
    good: (world) => bulkIn(world, 'completed'),
    more: [
      {
        what: 'one that waits',
        status: 200,
        send: (world) => bulkIn(world, 'waiting'),
        has: { status: 'waiting', counts: { rows: 0 } },
      },
      {
        what: 'one that expired',
        status: 200,
        send: (world) => bulkIn(world, 'expired'),
        has: { status: 'expired' },
      },
      {
        what: 'one whose queries are started',
        status: 200,
        send: (world) => sweepIn(world, 'running'),
        has: { sweep: { state: 'running', patients: 3 } },
      },
    ],
  },
  listBulkCreates: {
    good: async (world) => {
      await bulkIn(world, 'failed');
      return { query: { sort: 'requestId=desc' } };
    },
    refused: badPages(),
  },
  pauseBulkCreate: {
    good: (world) => bulkIn(world, 'processing'),
    refused: [
      refusedBulk('waiting', 'No file has been uploaded yet'),
      refusedBulk('processing', 'is already paused', true),
      refusedBulk('completed', 'has ended (completed)'),
      refusedBulk('expired', 'has ended (expired)'),
    ],
  },
  resumeBulkCreate: {
    good: (world) => bulkIn(world, 'processing', true),
    refused: [
      refusedBulk('processing', 'is not paused'),
      refusedBulk('failed', 'has ended (failed)'),
    ],
  },
  cancelBulkCreate: {
    good: (world) => bulkIn(world, 'waiting'),
    refused: [refusedBulk('completed', 'has ended (completed)')],
  },
  pauseQuerySweep: {
    good: (world) => sweepIn(world, 'running'),
    refused: [refusedSweep('completed'), noSweep],
  },
  resumeQuerySweep: {
    good: (world) => sweepIn(world, 'paused'),
    refused: [refusedSweep('cancelled'), noSweep],
  },
  cancelQuerySweep: {
    good: (world) => sweepIn(world, 'paused'),
    refused: [refusedSweep('completed'), noSweep],
  },
};
