import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BulkCreateProgress } from '../../src/contract/bulk-create-workflow.ts';
import { BlobNotFoundError } from '../../src/shared/blobs/blob-store.ts';
import {
  type BulkExchange,
  createBulkExchange,
  eitherEngine,
  type FilePlan,
} from './bulk-create-environment.ts';
import { eventually } from './network-query-environment.ts';

/** By the content of the file. */
const plans: Record<string, FilePlan> = {};
/**
 * Requests whose row is written a second late when they are resumed, as in a
 * busy database.
 */
const resumedLate = new Set<string>();
/** The same when they are paused. */
const pausedLate = new Set<string>();
let exchange: BulkExchange;
beforeAll(async () => {
  exchange = await createBulkExchange(
    (parts) => eitherEngine(parts, plans),
    (activities) => ({
      ...activities,
      async setBulkPaused(step) {
        if ((step.paused ? pausedLate : resumedLate).has(step.requestId))
          await delay(1_000);
        await activities.setBulkPaused(step);
      },
    }),
  );
});
afterAll(() => exchange.close());

const resultOf = (requestId: string): Promise<BulkCreateProgress> =>
  exchange.handle(requestId).result();
const statusesTold = (requestId: string) =>
  exchange.told(requestId).map(({ status }) => status);
const toldInTheEnd = (requestId: string, statuses: string[]) =>
  eventually(
    () =>
      JSON.stringify(statusesTold(requestId).sort()) ===
      JSON.stringify([...statuses].sort()),
  );

/** A file whose chunks after the first wait until the test lets them go on. */
function heldFile(name: string, chunks = 3) {
  let release: () => void = () => undefined;
  let reached: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const atGate = new Promise<void>((resolve) => {
    reached = resolve;
  });
  plans[name] = {
    chunks,
    async beforeChunk(chunk) {
      if (chunk !== 1) return;
      reached();
      await gate;
    },
  };
  return { release, atGate };
}

describe('a bulk create', () => {
  test('goes from its file to the result, tells both ends by webhook, and leaves the queries to a sweep', async () => {
    plans.good = { chunks: 3 };
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'good');
    expect(await resultOf(requestId)).toMatchObject({
      state: 'completed',
      counts: { rows: 30, handled: 30, created: 27, updated: 0, failed: 3 },
    });
    const row = await exchange.row(requestId);
    expect(row).toMatchObject({
      status: 'completed',
      result: { contentType: 'text/csv' },
    });
    await toldInTheEnd(requestId, ['completed', 'processing']);
    const [completed] = exchange
      .told(requestId)
      .filter(({ status }) => status === 'completed');
    expect(completed).toMatchObject({
      result: expect.stringContaining(requestId),
    });
    expect(await exchange.hasSweep(requestId)).toBe(true);
    const { historyLength } = await exchange.handle(requestId).describe();
    expect(historyLength).toBeLessThan(60);
  });

  test('makes patients of real rows, some of which fail, and gives every row back in order', async () => {
    const row = (name: string, zip: string) =>
      `${name},Sample,1980-04-05,F,12 Beacon Street,Boston,MA,${zip}`;
    const csv = [
      'firstName,lastName,dob,gender,addressLine1,city,state,zip',
      row('Ann', '02108'),
      row('Bob', '2108'),
      row('Cid', '02108'),
      row('Ann', '02108'),
      row('Dee', '02108'),
    ].join('\n');
    const requestId = await exchange.start();
    await exchange.upload(requestId, csv);
    expect(await resultOf(requestId)).toMatchObject({ state: 'completed' });
    const { counts, result } = await exchange.row(requestId);
    expect(counts).toEqual({
      rows: 5,
      handled: 5,
      created: 3,
      updated: 1,
      failed: 1,
    });
    const lines = String(await exchange.blobs.read(result?.ref ?? ''))
      .trim()
      .split(/\r?\n/);
    expect(
      lines.map(
        (line) => /\b(created|updated|failed|status)\b/.exec(line)?.[0],
      ),
    ).toEqual(['status', 'created', 'failed', 'created', 'updated', 'created']);
    expect(lines[4]).toContain(/[0-9a-f-]{36}/.exec(lines[1] ?? '')?.[0]);
  });

  test('that only checks starts no queries', async () => {
    plans.dry = {};
    const requestId = await exchange.start({ dryRun: true });
    await exchange.upload(requestId, 'dry');
    expect((await resultOf(requestId)).state).toBe('completed');
    expect(await exchange.hasSweep(requestId)).toBe(false);
  });

  test('whose file is not in the expected format fails with the reason', async () => {
    plans.bad = { refuse: 'line 1: the column lastName is missing' };
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'bad');
    expect(await resultOf(requestId)).toMatchObject({
      state: 'failed',
      reason: plans.bad.refuse,
    });
    expect(await exchange.row(requestId)).toMatchObject({
      status: 'failed',
      reason: plans.bad.refuse,
    });
    await toldInTheEnd(requestId, ['failed', 'processing']);
    expect(exchange.told(requestId)).toContainEqual({
      requestId,
      status: 'failed',
      reason: plans.bad.refuse,
    });
  });

  test('whose file cannot be read any more fails, and says what to do', async () => {
    plans.lost = {
      beforeChunk: () => Promise.reject(new BlobNotFoundError('upload/0')),
    };
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'lost');
    expect((await resultOf(requestId)).reason).toContain('upload it again');
    expect((await exchange.row(requestId)).status).toBe('failed');
  });

  test('bridges a fault of our own', async () => {
    let faults = 0;
    plans.faulty = {
      chunks: 2,
      async beforeChunk() {
        if (faults++ === 0) throw new Error('the database is away');
      },
    };
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'faulty');
    expect(await resultOf(requestId)).toMatchObject({
      state: 'completed',
      counts: { handled: 20 },
    });
  });

  test('without a file in time is expired, and nobody is told', async () => {
    const requestId = await exchange.start({ uploadLifetimeMs: 1 });
    expect((await resultOf(requestId)).state).toBe('expired');
    expect((await exchange.row(requestId)).status).toBe('expired');
    expect(exchange.told(requestId)).toEqual([]);
  });
});

describe('steering a bulk create', () => {
  test('paused, it handles no further row, and resumed it goes on after the last one', async () => {
    const { release, atGate } = heldFile('paused');
    const { accountId, service } = exchange;
    const requestId = await exchange.start();
    await expect(service.pauseBulkCreate(accountId, requestId)).rejects.toThrow(
      'No file has been uploaded yet',
    );
    await exchange.upload(requestId, 'paused');
    await atGate;
    await expect(
      service.resumeBulkCreate(accountId, requestId),
    ).rejects.toThrow('is not paused');
    expect(await service.pauseBulkCreate(accountId, requestId)).toMatchObject({
      paused: true,
    });
    release();
    await eventually(
      async () => (await exchange.row(requestId)).counts.handled === 20,
    );
    await expect(service.pauseBulkCreate(accountId, requestId)).rejects.toThrow(
      'is already paused',
    );
    const state = await exchange
      .handle(requestId)
      .query<BulkCreateProgress>('status');
    expect(state.state).toBe('paused');
    const { activeMs } = await exchange.row(requestId);
    expect((await exchange.row(requestId)).activeMs).toBe(activeMs);
    expect(await service.resumeBulkCreate(accountId, requestId)).toMatchObject({
      paused: false,
    });
    expect(await resultOf(requestId)).toMatchObject({
      state: 'completed',
      counts: { handled: 30 },
    });
  });

  test('resumed, it processes no rows before its row says so, and does not pause again', async () => {
    const { release, atGate } = heldFile('resumed late');
    const { accountId, service } = exchange;
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'resumed late');
    await atGate;
    await service.pauseBulkCreate(accountId, requestId);
    release();
    await eventually(
      async () => (await exchange.row(requestId)).counts.handled === 20,
    );
    resumedLate.add(requestId);
    await service.resumeBulkCreate(accountId, requestId);
    await eventually(
      async () => (await exchange.row(requestId)).status === 'completed',
    );
  });

  test('a resume follows a pause that is not confirmed yet, so that nothing stays paused', async () => {
    const { release, atGate } = heldFile('paused late');
    const { accountId, service } = exchange;
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'paused late');
    await atGate;
    pausedLate.add(requestId);
    const pausing = service.pauseBulkCreate(accountId, requestId);
    await eventually(
      async () =>
        (await exchange.handle(requestId).query<BulkCreateProgress>('status'))
          .state === 'paused',
    );
    // It may be answered that nothing was paused, as the row said; what counts
    // is what comes of it.
    await service.resumeBulkCreate(accountId, requestId).catch(() => undefined);
    await pausing;
    expect(await exchange.row(requestId)).toMatchObject({ paused: false });
    release();
    expect(await resultOf(requestId)).toMatchObject({ state: 'completed' });
  });

  test('that is paused is resumed although its workflow was lost and is only starting again', async () => {
    const { accountId, service } = exchange;
    const requestId = await exchange.start({ launch: false });
    await exchange.upload(requestId, 'good', false);
    await exchange.change(requestId, sql`paused = true`);
    expect(await service.resumeBulkCreate(accountId, requestId)).toMatchObject({
      paused: false,
    });
    service.announceUpload(accountId, requestId);
    expect(await resultOf(requestId)).toMatchObject({ state: 'completed' });
  });

  test('cancelled, it has failed at once, keeps what was handled, and starts no queries', async () => {
    const { release, atGate } = heldFile('cancelled');
    const { accountId, service } = exchange;
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'cancelled');
    await atGate;
    const cancelled = await service.cancelBulkCreate(accountId, requestId);
    expect(cancelled).toMatchObject({
      status: 'failed',
      reason: 'cancelled',
      counts: { handled: 10 },
    });
    release();
    expect(await resultOf(requestId)).toMatchObject({
      state: 'failed',
      reason: 'cancelled',
    });
    await toldInTheEnd(requestId, ['failed', 'processing']);
    expect(await exchange.hasSweep(requestId)).toBe(false);
    await expect(
      service.cancelBulkCreate(accountId, requestId),
    ).rejects.toThrow('has ended (failed)');
    await expect(service.pauseBulkCreate(accountId, requestId)).rejects.toThrow(
      'has ended (failed)',
    );
  });

  test('cancelled while it waits or is paused, it ends too, and its URL takes nothing', async () => {
    const { accountId, service } = exchange;
    const waiting = await exchange.start({ launch: false });
    expect(await service.cancelBulkCreate(accountId, waiting)).toMatchObject({
      status: 'failed',
    });
    await expect(exchange.upload(waiting, 'good')).rejects.toMatchObject({
      status: 410,
    });

    const { release, atGate } = heldFile('paused, then cancelled');
    const paused = await exchange.start();
    await exchange.upload(paused, 'paused, then cancelled');
    await atGate;
    await service.pauseBulkCreate(accountId, paused);
    release();
    expect(await service.cancelBulkCreate(accountId, paused)).toMatchObject({
      status: 'failed',
      paused: false,
    });
    expect(await resultOf(paused)).toMatchObject({
      state: 'failed',
      reason: 'cancelled',
    });
  });

  test('cancelled by an operator in Temporal, the request has ended and says so', async () => {
    const { release, atGate } = heldFile('operator');
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'operator');
    await atGate;
    await exchange.handle(requestId).cancel();
    release();
    await expect(resultOf(requestId)).rejects.toThrow();
    expect(await exchange.row(requestId)).toMatchObject({
      status: 'failed',
      reason:
        'An operator cancelled the request; start a new bulk create and upload the file again',
    });
  });
});

describe('what a crash or an operator leaves behind', () => {
  test('a request whose workflow nobody started is started, and one that nobody told of its file is told', async () => {
    plans['never told'] = {};
    const requestId = await exchange.start({ launch: false });
    await exchange.upload(requestId, 'never told', false);
    const told = await exchange.start();
    await exchange.upload(told, 'never told', false);
    const ago = sql`created_at = now() - interval '1 minute', uploaded_at = now() - interval '1 minute'`;
    await Promise.all([
      exchange.change(requestId, ago),
      exchange.change(told, ago),
    ]);
    expect((await exchange.reconcile()).taken).toBeGreaterThanOrEqual(2);
    expect((await resultOf(requestId)).state).toBe('completed');
    expect((await resultOf(told)).state).toBe('completed');
  });

  test('a request whose workflow was terminated has failed', async () => {
    const requestId = await exchange.start();
    await exchange.handle(requestId).terminate();
    await exchange.change(
      requestId,
      sql`workflow_started_at = now() - interval '1 hour'`,
    );
    await exchange.reconcile();
    expect(await exchange.row(requestId)).toMatchObject({ status: 'failed' });
    await toldInTheEnd(requestId, ['failed']);
  });

  test('a request that had ended before PostgreSQL was restored to an earlier time goes on, and is not failed', async () => {
    plans.restored = {};
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'restored');
    expect((await resultOf(requestId)).state).toBe('completed');
    await exchange.change(
      requestId,
      sql`status = 'processing', result = null, ended_at = null, workflow_started_at = now() - interval '1 hour'`,
    );
    const { runId } = await exchange.handle(requestId).describe();
    await exchange.reconcile();

    expect((await exchange.handle(requestId).describe()).runId).not.toBe(runId);
    expect((await resultOf(requestId)).state).toBe('completed');
    expect(await exchange.row(requestId)).toMatchObject({
      status: 'completed',
    });
  });

  test('a paused request whose workflow is started anew stays paused without processing, until it is resumed', async () => {
    plans['paused before'] = { chunks: 3 };
    const requestId = await exchange.start({ launch: false });
    await exchange.upload(requestId, 'paused before', false);
    await exchange.change(
      requestId,
      sql`paused = true, created_at = now() - interval '1 hour'`,
    );
    await exchange.reconcile();
    await expect
      .poll(() =>
        exchange.handle(requestId).query<BulkCreateProgress>('status'),
      )
      .toMatchObject({ state: 'paused' });
    const events = async () =>
      (await exchange.handle(requestId).fetchHistory()).events?.length;
    const before = await events();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await events()).toBe(before);
    await exchange.service.resumeBulkCreate(exchange.accountId, requestId);
    expect((await resultOf(requestId)).state).toBe('completed');
  });

  test('an upload, and parts of a result never joined, are deleted a week after the end, and the hash stays', async () => {
    plans.old = {};
    const requestId = await exchange.start();
    await exchange.upload(requestId, 'old');
    await resultOf(requestId);
    const { upload } = await exchange.row(requestId);
    const part = await exchange.leavePart(requestId);
    expect((await exchange.reconcile()).uploadsDeleted).toBe(0);
    await exchange.change(requestId, sql`ended_at = now() - interval '8 days'`);
    expect((await exchange.reconcile()).uploadsDeleted).toBe(1);
    await expect(exchange.blobs.read(upload?.ref ?? '')).rejects.toThrow(
      'There is no blob',
    );
    await expect(exchange.blobs.read(part)).rejects.toThrow('There is no blob');
    expect((await exchange.row(requestId)).upload).toEqual(upload);
    expect((await exchange.reconcile()).uploadsDeleted).toBe(0);
  });
});
