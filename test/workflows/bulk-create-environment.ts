import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { inject } from 'vitest';
import {
  type BulkActivities,
  createBulkActivities,
} from '../../src/activities/exchange/bulk-create.ts';
import type { BulkCounts } from '../../src/contract/bulk-create.ts';
import {
  bulkPatientCreateWorkflowId,
  querySweepWorkflowId,
  TASK_QUEUES,
} from '../../src/contract/temporal.ts';
import {
  type BulkEngine,
  createBulkEngine,
} from '../../src/exchange/people/bulk-create/engine.ts';
import {
  bulkCreateRecoveries,
  uploadRetention,
} from '../../src/exchange/people/bulk-create/recovery.ts';
import {
  insertBulkRequest,
  readBulkRequest,
} from '../../src/exchange/people/bulk-create/request-store.ts';
import { createBulkCreateService } from '../../src/exchange/people/bulk-create/service.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { inBothLanes } from '../../src/temporal/task-queues.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import {
  createDeliveries,
  startReceiver,
} from '../support/events-environment.ts';
import { createQueryEnvironment } from '../support/network-query-environment.ts';
import { takeUp } from '../support/take-up.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { shortWorkflowTasks } from './short-workflow-tasks.ts';

installTestRuntime();
type EngineParts = Pick<
  Awaited<ReturnType<typeof createQueryEnvironment>>,
  'store' | 'blobs'
>;
const logger = pino({ level: 'silent' });

/**
 * Bulk creates on real parts (PostgreSQL, blobs, Temporal with our workers, a
 * receiver); the engine is the test's, which may also delay activities.
 */
export async function createBulkExchange(
  createEngine: (parts: EngineParts) => BulkEngine,
  delayed: (activities: BulkActivities) => BulkActivities = (activities) =>
    activities,
) {
  const [environment, namespace, receiver] = await Promise.all([
    createQueryEnvironment(),
    createTestNamespace(),
    startReceiver(),
  ]);
  const { store, blobs } = environment;
  const address = inject('temporalAddress');
  const dataConverter = createDataConverter(testKeyRing());
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const temporal = new Client({
    connection,
    namespace,
    dataConverter,
    interceptors: { workflow: [shortWorkflowTasks] },
  });
  const { webhookDispatcher } = createDeliveries(store, temporal);
  store.onEventsCommitted(webhookDispatcher.send);
  const service = createBulkCreateService({ store, blobs, temporal, logger });
  const recovery = { store, blobs, launcher: service.launcher, logger };
  const bulkActivities = delayed(
    createBulkActivities({
      store,
      engine: createEngine(environment),
      startGuard: createStartGuard(store),
    }),
  );
  /** Workers with this workflow code; what it returns stops them. */
  async function startWorkers(bundle: {
    code: string;
  }): Promise<() => Promise<void>> {
    const workers = await createWorkers({
      connection: native,
      namespace,
      dataConverter,
      workflowBundle: bundle,
      activities: inBothLanes({ [TASK_QUEUES.exchange]: bulkActivities }),
    });
    const running = workers.map((worker) => worker.run());
    return async () => {
      for (const worker of workers)
        if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all(running);
    };
  }
  const stopWorkers = await startWorkers(await workflowBundle());
  const { accountId } = await environment.addAccount({}, receiver.url);
  const facilityId = uuidv7();
  await store.asAccount(accountId, (tx) =>
    insertFacility(tx, {
      id: facilityId,
      oid: '2.16.840.1.113883.3.9621.5.9',
      name: 'Bulk clinic',
      npi: '1234567893',
      tin: null,
      address: {
        addressLine1: '1 Main St',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
        country: 'USA',
      },
    }),
  );
  const handle = (requestId: string) =>
    temporal.workflow.getHandle(bulkPatientCreateWorkflowId(requestId));

  return {
    store,
    blobs,
    accountId,
    service,
    temporal,
    startWorkers,
    stopWorkers,
    handle,
    /** Accepts a request and starts its workflow, as E5 does. */
    async start(
      options: {
        dryRun?: boolean;
        uploadLifetimeMs?: number;
        launch?: boolean;
      } = {},
    ) {
      const {
        dryRun = false,
        uploadLifetimeMs = 600_000,
        launch = true,
      } = options;
      const id = uuidv7();
      await store.asAccount(accountId, (tx) =>
        insertBulkRequest(tx, { id, facilityId, dryRun, uploadLifetimeMs }),
      );
      if (launch) await service.launcher.start(accountId, id);
      return id;
    },
    /**
     * Uploads, as the PUT does; without `tell` the gateway dies right after its
     * commit.
     */
    async upload(requestId: string, csv: string, tell = true) {
      async function* body() {
        yield Buffer.from(csv);
      }
      await service.receiveUpload(
        { accountId, requestId },
        body(),
        async () => undefined,
      );
      if (tell) service.announceUpload(accountId, requestId);
    },
    async row(requestId: string) {
      const request = await store.asAccount(accountId, (tx) =>
        readBulkRequest(tx, requestId),
      );
      if (request === undefined) throw new Error('there is no such request');
      return request;
    },
    change: (requestId: string, set: ReturnType<typeof sql>) =>
      store.asAccount(accountId, (tx) =>
        sql`update bulk_request set ${set} where id = ${requestId}`.execute(
          tx.db,
        ),
      ),
    /**
     * A part of a result that was not joined, as a cancelled request leaves it.
     * Returns its reference.
     */
    async leavePart(requestId: string): Promise<string> {
      const part = await blobs.put('result', Buffer.from('part'), 'text/csv');
      await store.asAccount(accountId, (tx) =>
        sql`insert into bulk_chunk (request_id, chunk, account_id, byte_start, byte_end, first_row, rows, result)
            values (${requestId}, 0, ${accountId}, 0, 1, 1, 1, ${JSON.stringify(part)})`.execute(
          tx.db,
        ),
      );
      return part.ref;
    },
    reconcile: async () => {
      let taken = 0;
      for (const each of bulkCreateRecoveries(recovery))
        taken += await takeUp(each, 100);
      return {
        taken,
        uploadsDeleted: await takeUp(uploadRetention(recovery), 100),
      };
    },
    /** What the receiver was told of a request, in the order of its coming. */
    told: (requestId: string) =>
      receiver.received
        .map(
          ({ raw }) =>
            JSON.parse(raw).bulkPatientCreate as {
              requestId: string;
              status: string;
            },
        )
        .filter((told) => told.requestId === requestId),
    hasSweep: (requestId: string) =>
      temporal.workflow
        .getHandle(querySweepWorkflowId(requestId))
        .describe()
        .then(
          () => true,
          () => false,
        ),
    async close() {
      await stopWorkers();
      await service.drain();
      await webhookDispatcher.drain();
      await Promise.all([receiver.close(), environment.close()]);
      await Promise.all([connection.close(), native.close()]);
    },
  };
}

export type BulkExchange = Awaited<ReturnType<typeof createBulkExchange>>;

/**
 * The real engine, with chunks of two rows, for files that are CSV; the
 * counting one for the others.
 */
export function eitherEngine(
  parts: EngineParts,
  plans: Record<string, FilePlan>,
): BulkEngine {
  const counting = countingEngine(parts, plans);
  const real = createBulkEngine({
    ...parts,
    hmacKey: TEST_ID_HMAC_KEY,
    chunkRows: 2,
  });
  const engineOf = async (accountId: string, requestId: string) => {
    const request = await parts.store.asAccount(accountId, (tx) =>
      readBulkRequest(tx, requestId),
    );
    const text = String(await parts.blobs.read(request?.upload?.ref ?? ''));
    return text.startsWith('firstName,') ? real : counting;
  };
  return {
    check: async (...of) => (await engineOf(of[0], of[1])).check(...of),
    processChunks: async (...of) =>
      (await engineOf(of[0], of[1])).processChunks(...of),
    join: async (...of) => (await engineOf(of[0], of[1])).join(...of),
  };
}

/** What a test lets become of a file, named by the file's content. */
export interface FilePlan {
  refuse?: string;
  /** Chunks of ten rows. */
  chunks?: number;
  /** Before each chunk. */
  beforeChunk?: (chunk: number) => Promise<void>;
}

/**
 * An engine that only counts, ten rows a chunk, and obeys the request's row as
 * the real one does; it may run twice.
 */
export function countingEngine(
  { store, blobs }: EngineParts,
  plans: Record<string, FilePlan>,
): BulkEngine {
  const read = (accountId: string, requestId: string) =>
    store.asAccount(accountId, async (tx) => {
      const request = await readBulkRequest(tx, requestId);
      if (request?.upload === undefined)
        throw new Error('nothing was uploaded');
      return { ...request, upload: request.upload };
    });
  const planOf = async (ref: string) =>
    plans[String(await blobs.read(ref))] ?? {};
  return {
    async check(accountId, requestId) {
      const { refuse, chunks = 1 } = await planOf(
        (await read(accountId, requestId)).upload.ref,
      );
      if (refuse !== undefined) return { kind: 'refused', reason: refuse };
      await store.asAccount(accountId, (tx) =>
        sql`update bulk_request set rows = ${chunks * 10} where id = ${requestId}`.execute(
          tx.db,
        ),
      );
      return { kind: 'ok', rows: chunks * 10 };
    },
    async processChunks(accountId, requestId, { signal, onChunk } = {}) {
      for (;;) {
        const { status, paused, counts, upload } = await read(
          accountId,
          requestId,
        );
        if (status !== 'processing')
          return { done: false, counts, stopped: 'ended' };
        if (paused) return { done: false, counts, stopped: 'paused' };
        if (counts.handled === counts.rows) return { done: true, counts };
        await (await planOf(upload.ref)).beforeChunk?.(counts.handled / 10);
        signal?.throwIfAborted();
        await store.asAccount(accountId, (tx) =>
          sql`update bulk_request set handled = handled + 10, created = created + 9, failed = failed + 1
              where id = ${requestId} and handled = ${counts.handled}`.execute(
            tx.db,
          ),
        );
        onChunk?.({
          ...counts,
          handled: counts.handled + 10,
        } satisfies BulkCounts);
      }
    },
    async join(accountId, requestId) {
      const blob = await blobs.put('result', Buffer.from('result'), 'text/csv');
      await store.asAccount(accountId, (tx) =>
        sql`update bulk_request set result = ${JSON.stringify(blob)} where id = ${requestId}`.execute(
          tx.db,
        ),
      );
      return blob;
    },
  };
}
