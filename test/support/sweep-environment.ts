import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import {
  DEFAULT_SWEEP_PACE,
  type SweepPace,
} from '../../src/contract/bulk-create-workflow.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import type { AccountSettings } from '../../src/exchange/platform/account.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { startPage } from '../../src/exchange/queries/sweep/start-page.ts';
import { openSweep } from '../../src/exchange/queries/sweep/sweep-store.ts';
import { createTestDatabase } from './postgres.ts';

export const CALLBACK_KEY = 'link-signing-key-of-the-tests-only';
const ALL_SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};

export interface TestPanel {
  accountId: string;
  requestId: string;
  /** In the order of the file. */
  patientIds: string[];
}

/**
 * A database with bulk creates that have made patients, as the sweep of their
 * queries finds them.
 */
export async function createSweepEnvironment() {
  const database = await createTestDatabase();
  const store = createStore({ databaseUrl: database.databaseUrl, poolMax: 10 });

  return {
    store,
    async close() {
      await store.close();
      await database.drop();
    },

    /**
     * A completed bulk create of `count` patients. `optedOut`: numbers of
     * those, from 0.
     */
    async addPanel(
      count: number,
      options: {
        settings?: AccountSettings;
        optedOut?: number[];
        dryRun?: boolean;
      } = {},
    ): Promise<TestPanel> {
      const accountId = uuidv7();
      const facilityId = uuidv7();
      const requestId = uuidv7();
      const patientIds = Array.from({ length: count }, () => uuidv7());
      await store.asSystem(async (tx) => {
        await insertAccount(tx, {
          id: accountId,
          name: 'Test',
          settings: { sources: ALL_SOURCES, ...options.settings },
        });
        await sql`insert into facility (id, account_id, oid, name, npi, address)
          values (${facilityId}, ${accountId}, '2.16.840', 'Clinic', '1234567893', '{}')`.execute(
          tx.db,
        );
        await sql`insert into bulk_request (id, account_id, facility_id, dry_run, status, created, upload_expires_at, ended_at)
          values (${requestId}, ${accountId}, ${facilityId}, ${options.dryRun ?? false}, 'completed', ${count}, now(),
                  now() - interval '2 minutes')`.execute(tx.db);
        // Newer ids come first in the file, so that the order of the ids is not
        // taken for the order of the file.
        await sql`insert into patient
            (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, hie_opt_out)
          select id, ${accountId}::uuid, '{Pat}', '{Sample}', '1980-01-01', 'F', '[]', '{}',
                 n - 1 = any(${options.optedOut ?? []}::int[])
          from unnest(${patientIds}::uuid[]) with ordinality as p (id, n)`.execute(
          tx.db,
        );
        await sql`insert into bulk_patient (request_id, patient_id, account_id, first_row)
          select ${requestId}::uuid, id, ${accountId}::uuid, 2 * n
          from unnest(${patientIds}::uuid[]) with ordinality as p (id, n)`.execute(
          tx.db,
        );
      });
      return { accountId, requestId, patientIds };
    },

    /** One page, committed. */
    async page(panel: TestPanel, pace: Partial<SweepPace> = {}) {
      return store.asAccount(panel.accountId, async (tx) => {
        await openSweep(tx, panel.requestId);
        return startPage(
          tx,
          panel.requestId,
          { ...DEFAULT_SWEEP_PACE, ...pace },
          CALLBACK_KEY,
        );
      });
    },

    /** Nobody writes to the table until it is released. */
    async holdTable(table: string) {
      const client = new pg.Client({ connectionString: database.databaseUrl });
      await client.connect();
      await client.query(`begin; lock table ${table} in exclusive mode`);
      return {
        async isWaitedFor(): Promise<void> {
          const waiting =
            'select from pg_locks where relation = $1::regclass and not granted';
          while ((await client.query(waiting, [table])).rowCount === 0)
            await sleep(5);
        },
        release: () => client.end(),
      };
    },

    /**
     * Every query of the account by the number of its patient, in the order in
     * which they were written.
     */
    async queriesOf(panel: TestPanel) {
      return store.asAccount(panel.accountId, async (tx) => {
        const rows = await tx.db
          .selectFrom('network_query')
          .select([
            'id',
            'patient_id',
            'status',
            'origin',
            'requested',
            'metadata',
          ])
          .orderBy('id')
          .execute();
        return rows.map((row) => ({
          ...row,
          patient: panel.patientIds.indexOf(row.patient_id),
        }));
      });
    },

    /**
     * All running queries of the account end, as if their sources had answered.
     */
    async endQueries(panel: TestPanel, limit = 1_000): Promise<void> {
      await store.asAccount(panel.accountId, async (tx) => {
        const ended = sql`select id from network_query where status = 'running' order by id limit ${limit}`;
        await sql`update network_query_attempt set status = 'completed' where query_id in (${ended})`.execute(
          tx.db,
        );
        await sql`update network_query_run set ended_at = now() where query_id in (${ended})`.execute(
          tx.db,
        );
        await sql`update network_query set status = 'completed', ended_at = now() where id in (${ended})`.execute(
          tx.db,
        );
      });
    },

    /**
     * Limits are counted by the minute of the database; what begins at its end
     * would see two of them.
     */
    async untilEarlyInMinute(): Promise<void> {
      await store.asSystem((tx) =>
        sql`select pg_sleep(case when extract(second from clock_timestamp()) > 50
            then 60.1 - extract(second from clock_timestamp()) else 0 end)`.execute(
          tx.db,
        ),
      );
    },

    /** As if a minute had passed: nothing of the limits is used. */
    async nextMinute(): Promise<void> {
      await store.asSystem((tx) => sql`delete from rate_window`.execute(tx.db));
    },
  };
}

export type SweepEnvironment = Awaited<
  ReturnType<typeof createSweepEnvironment>
>;

/** 0, 1, … */
export const numbers = (count: number): number[] =>
  Array.from({ length: count }, (_, number) => number);
