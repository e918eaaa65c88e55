import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
import { openFollowUp } from '../../src/exchange/messaging/notifications/follow-up/follow-up-store.ts';
import { createFollowUps } from '../../src/exchange/messaging/notifications/follow-up/follow-ups.ts';
import {
  createFollowUpRounds,
  NoRoomError,
} from '../../src/exchange/messaging/notifications/follow-up/rounds.ts';
import { insertNotification } from '../../src/exchange/messaging/notifications/notification-store.ts';
import type { AccountSettings } from '../../src/exchange/platform/account.ts';
import { countUse } from '../../src/exchange/platform/limits/limit-store.ts';
import { completeAttempt } from '../../src/exchange/queries/network-query/endings.ts';
import {
  prepareQuery,
  readSweepRoom,
} from '../../src/exchange/queries/network-query/prepare.ts';
import {
  insertDocuments,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import { queryTest } from '../support/fixtures.ts';
import { CALLBACK_KEY, stepOf } from '../support/network-query-environment.ts';
import { takeUp } from '../support/take-up.ts';

const test = queryTest.extend(
  'followUps',
  { scope: 'file' },
  async ({ environment }) => {
    const rounds = createFollowUpRounds({
      store: environment.store,
      networkQueries: {
        prepareQuery: (tx, input) => prepareQuery(tx, input, CALLBACK_KEY),
        launchQuery: (_accountId, { requestId }) =>
          void launched.push(requestId),
      },
    });
    const launched: string[] = [];
    /** A patient just discharged. */
    async function discharged(settings: AccountSettings = {}) {
      const { store } = environment;
      const { accountId } = await environment.addAccount(settings);
      const patientId = await environment.addPatient(accountId);
      const subjectId = uuidv7();
      await store.asSystem((tx) =>
        sql`insert into inbound_subject (id, sender, kind, source_key)
        values (${subjectId}, 'mercy', 'encounter', ${Buffer.from(subjectId)})`.execute(
          tx.db,
        ),
      );
      const about = {
        patientId,
        subjectId,
        type: 'patient.discharge',
        factKey: 'discharge/0',
        sender: 'mercy',
      };
      const notificationId = await store.asAccount(accountId, async (tx) => {
        const id = (await insertNotification(tx, about)) ?? '';
        await openFollowUp(tx, { notificationId: id, patientId });
        return id;
      });
      return { accountId, patientId, notificationId };
    }
    const queriesOf = (of: { accountId: string; notificationId: string }) =>
      environment.store.asAccount(of.accountId, async (tx) => {
        const row = await tx.db
          .selectFrom('discharge_follow_up')
          .select('query_ids')
          .where('notification_id', '=', of.notificationId)
          .executeTakeFirstOrThrow();
        return row.query_ids;
      });
    /** The last query of a follow-up ends, having found these observations. */
    async function answer(
      of: { accountId: string; notificationId: string; patientId: string },
      observations: Record<string, string>,
    ): Promise<void> {
      const { accountId, patientId } = of;
      const requestId = (await queriesOf(of)).at(-1) ?? '';
      await environment.store.asAccount(accountId, async (tx) => {
        const id = uuidv7();
        const bytes = {
          sizeBytes: 1,
          sha256: createHash('sha256').digest(),
          blobRef: 'x',
        };
        const document = {
          id,
          patientId,
          queryId: requestId,
          source: 'hie',
          kind: 'page',
          ...bytes,
        } as const;
        await insertDocuments(tx, [
          {
            ...document,
            fileName: `${id}.json`,
            contentType: 'application/fhir+json',
          },
        ]);
        await upsertResources(
          tx,
          { patientId, source: 'hie', documentId: id },
          Object.entries(observations).map(([sourceId, text]) => ({
            resourceType: 'Observation',
            revision: '',
            sourceId,
            sha256: createHash('sha256').update(text).digest('hex'),
            json: JSON.stringify({
              resourceType: 'Observation',
              id: sourceId,
              text,
            }),
          })),
        );
        await completeAttempt(tx, stepOf(accountId, requestId, 'hie'));
      });
    }
    return {
      ...environment,
      ...rounds,
      discharged,
      queriesOf,
      answer,
      launched,
    };
  },
);

describe('a round', () => {
  test('starts one hie query as monitoring does, however often it is made', async ({
    followUps,
  }) => {
    const of = await followUps.discharged();
    expect(await followUps.ask({ ...of, round: 1 })).toEqual({
      state: 'open',
      isQueryRunning: true,
    });
    await Promise.all([
      followUps.ask({ ...of, round: 1 }),
      followUps.ask({ ...of, round: 2 }),
    ]);
    const [queryId, ...others] = await followUps.queriesOf(of);
    expect(others).toEqual([]);
    expect(followUps.launched).toContain(queryId);
    const query = await followUps.store.asAccount(of.accountId, (tx) =>
      tx.db
        .selectFrom('network_query')
        .selectAll()
        .where('id', '=', queryId ?? '')
        .executeTakeFirst(),
    );
    expect(query).toMatchObject({
      origin: 'monitoring',
      requested: [{ source: 'hie' }],
      metadata: { notificationId: of.notificationId },
    });
  });

  test('ends the follow-up when the last query brought what was not known, not when it brought the same again', async ({
    followUps,
  }) => {
    const of = await followUps.discharged();
    await followUps.store.asAccount(of.accountId, async (tx) => {
      const id = uuidv7();
      await sql`insert into document (id, account_id, patient_id, query_id, source, kind, file_name, content_type, size_bytes,
          sha256, blob_ref) values (${id}, ${of.accountId}, ${of.patientId}, ${uuidv7()}, 'hie', 'page', ${id}, 'x', 1, 'x', 'x')`.execute(
        tx.db,
      );
      await upsertResources(tx, { ...of, source: 'hie', documentId: id }, [
        {
          resourceType: 'Observation',
          sourceId: 'known',
          json: '{}',
          revision: '',
          sha256: createHash('sha256').update('as before').digest('hex'),
        },
      ]);
    });
    await followUps.ask({ ...of, round: 1 });
    expect(await followUps.look(of)).toEqual({
      state: 'open',
      isQueryRunning: true,
    });
    await followUps.answer(of, { known: 'as before' });
    expect(await followUps.look(of)).toEqual({
      state: 'open',
      isQueryRunning: false,
    });
    await followUps.ask({ ...of, round: 2 });
    await followUps.answer(of, {
      known: 'as before',
      summary: 'discharge summary',
    });
    const end = {
      state: 'new-data',
      reason: 'The queries of the hie source brought 1 new resource',
      isQueryRunning: false,
    };
    expect(await followUps.ask({ ...of, round: 3 })).toEqual(end);
    expect(await followUps.end(of, 'no-new-data', 'too late')).toEqual(end);
    expect(await followUps.queriesOf(of)).toHaveLength(2);
  });

  test('asks nobody for a patient who has opted out since, or is gone', async ({
    followUps,
  }) => {
    const optedOut = await followUps.discharged();
    await followUps.store.asAccount(optedOut.accountId, (tx) =>
      sql`update patient set hie_opt_out = true where id = ${optedOut.patientId}`.execute(
        tx.db,
      ),
    );
    expect(await followUps.ask({ ...optedOut, round: 1 })).toMatchObject({
      state: 'cancelled',
      reason: expect.stringContaining('opted out'),
    });
    const denied = await followUps.discharged();
    await followUps.store.asAccount(denied.accountId, (tx) =>
      sql`insert into consent (id, account_id, patient_id, decision, sources, purposes, recorded_by, resource)
        values (gen_random_uuid(), ${denied.accountId}, ${denied.patientId}, 'deny', '{hie}', '{}', 'key:test', '{}')`.execute(
        tx.db,
      ),
    );
    expect(await followUps.ask({ ...denied, round: 1 })).toMatchObject({
      state: 'cancelled',
      reason: expect.stringContaining('A consent of the patient excludes'),
    });
    const gone = await followUps.discharged();
    await followUps.store.asAccount(gone.accountId, (tx) =>
      sql`delete from patient where id = ${gone.patientId}`.execute(tx.db),
    );
    expect(await followUps.ask({ ...gone, round: 1 })).toMatchObject({
      state: 'cancelled',
      reason: expect.stringContaining('deleted'),
    });
  });

  test('waits for room under the account’s limit and leaves no failed query behind', async ({
    followUps,
  }) => {
    const of = await followUps.discharged({
      limits: { networkQueriesPerMinute: 0 },
    });
    const refused = await followUps
      .ask({ ...of, round: 1 })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(NoRoomError);
    expect(await followUps.queriesOf(of)).toEqual([]);
    const { retryAfterMs } = refused as NoRoomError;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test('goes before sweeps: there is room for it when sweeps have used all of theirs', async ({
    followUps,
  }) => {
    const settings = { limits: { networkQueriesPerMinute: 10 } };
    const of = await followUps.discharged(settings);
    const roomOfSweeps = await followUps.store.asAccount(
      of.accountId,
      async (tx) => {
        await countUse(tx, ['network-query/hie'], 7);
        return readSweepRoom(tx, settings, ['hie']);
      },
    );
    expect(roomOfSweeps).toMatchObject([{ room: 0, isHeld: false }]);
    await followUps.ask({ ...of, round: 1 });
    expect(await followUps.queriesOf(of)).toHaveLength(1);
  });
});

describe('reconcile', () => {
  test('starts the workflow of a follow-up that a crash left without, and ends the row of a terminated one', async ({
    followUps,
  }) => {
    const left = await followUps.discharged();
    const terminated = await followUps.discharged();
    await followUps.store.asSystem((tx) =>
      sql`update discharge_follow_up set started_at = now() - interval '1 minute',
            workflow_started_at = case when notification_id = ${terminated.notificationId} then now() - interval '1 day' end
          where notification_id in (${left.notificationId}, ${terminated.notificationId})`.execute(
        tx.db,
      ),
    );
    const started: string[] = [];
    const workflow = {
      start: async (_type: string, { workflowId }: { workflowId: string }) => {
        started.push(workflowId);
      },
      // One that was started before is described, and not started again.
      getHandle: () => ({
        describe: async () => ({ status: { name: 'TERMINATED' } }),
      }),
    };
    const temporal = {
      workflow,
      withDeadline: (_at: number, call: () => unknown) => call(),
    };
    const { recovery } = createFollowUps({
      store: followUps.store,
      temporal: temporal as unknown as Parameters<
        typeof createFollowUps
      >[0]['temporal'],
      logger: pino({ level: 'silent' }),
    });
    expect(await takeUp(recovery, 100)).toBe(2);
    expect(await takeUp(recovery, 100)).toBe(0);
    expect(started).toEqual([`discharge-follow-up/${left.notificationId}`]);
    expect(await followUps.look(terminated)).toMatchObject({
      state: 'cancelled',
      reason: expect.stringContaining('ended from outside'),
    });
    expect(await followUps.look(left)).toMatchObject({ state: 'open' });
  });
});
