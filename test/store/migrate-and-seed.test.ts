import { readdirSync } from 'node:fs';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, inject } from 'vitest';
import { ConfigError } from '../../src/config.ts';
import { findKeysByHash } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import {
  seedDemoAccount,
  seedGatewayAccount,
} from '../../src/exchange/operations/admin/seed.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { readPacking } from '../../src/exchange/records/packing/packing-store.ts';
import { listConnections } from '../../src/exchange/sources/connections/connection-store.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { testKeyRing } from '../support/test-keys.ts';

const MIGRATIONS = new URL(
  '../../src/exchange/platform/database/migrations/',
  import.meta.url,
);

const webhookKeys = createWebhookKeys(testKeyRing());

describe('migrating', () => {
  test('from several processes at once brings an empty database up once', async () => {
    const name = `migrate_${Date.now()}`;
    const admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    await admin.query(`create database ${name}`);
    const url = new URL(inject('postgresUrl'));
    url.pathname = `/${name}`;
    const stores = Array.from({ length: 3 }, () =>
      createStore({ databaseUrl: url.href, poolMax: 2 }),
    );
    await Promise.all(stores.map((each) => each.migrate()));
    await stores[0]?.migrate();
    const migrated = new pg.Client({ connectionString: url.href });
    await migrated.connect();
    const { rows } = await migrated.query('select name from kysely_migration');
    await migrated.end();
    expect(rows.length).toBe(
      readdirSync(MIGRATIONS).filter((file) => file.endsWith('.sql')).length,
    );
    await Promise.all(stores.map((each) => each.close()));
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });

  test('a new database packs its records; one that has an account stays as its operator left it', async ({
    database,
    store,
  }) => {
    const mode = () =>
      store.asSystem(async (tx) => (await readPacking(tx)).mode);
    expect(await mode()).toBe('pack');

    const owner = new pg.Client({ connectionString: database.databaseUrl });
    await owner.connect();
    await owner.query(`update packing set mode = 'off';
      delete from kysely_migration where name = '0720-packing-when-new';
      insert into account (id, name, settings) values (gen_random_uuid(), 'of 0.2.0', '{}')`);
    await store.migrate();
    expect(await mode()).toBe('off');
    await owner.query(`delete from kysely_migration where name = '0720-packing-when-new';
      delete from account where name = 'of 0.2.0'`);
    await store.migrate();
    expect(await mode()).toBe('pack');
    await owner.end();
  });

  test('accepts a schema that a later build has migrated, so that a deploy can be rolled back', async ({
    database,
    store,
  }) => {
    const later = '9999-of-a-later-build';
    const admin = new pg.Client({ connectionString: database.databaseUrl });
    await admin.connect();
    await admin.query(
      'insert into kysely_migration (name, timestamp) values ($1, now())',
      [later],
    );
    await store.migrate();
    const { rows } = await admin.query(
      'select 1 from kysely_migration where name = $1',
      [later],
    );
    await admin.query('delete from kysely_migration where name = $1', [later]);
    await admin.end();
    expect(rows).toHaveLength(1);
  });

  test('gives up where a long transaction uses a table, as a backup does, and succeeds after it', async ({
    database,
    store,
  }) => {
    const backup = new pg.Client({ connectionString: database.databaseUrl });
    await backup.connect();
    await backup.query(
      `delete from kysely_migration where name = '0273-account-read-once'`,
    );
    await backup.query('begin; lock table patient in access share mode');
    await expect(store.migrate()).rejects.toMatchObject({ code: '55P03' });
    await backup.query('rollback');
    await backup.end();
    await store.migrate();
  });

  test('a database from before the first release is refused with what to do, and stays as it is', async () => {
    const name = `unreleased_${Date.now()}`;
    const admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    await admin.query(`create database ${name}`);
    const url = new URL(inject('postgresUrl'));
    url.pathname = `/${name}`;
    const old = new pg.Client({ connectionString: url.href });
    await old.connect();
    await old.query(`create table kysely_migration (name text primary key, "timestamp" text not null);
      insert into kysely_migration values ('0001-exchange', now()), ('0002-guard-tables', now());
      create table account (id uuid primary key)`);
    const opened = createStore({ databaseUrl: url.href, poolMax: 2 });
    const refused = opened.migrate();
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow(
      /before 0\.1\.0.*nothing was changed.*DATA_DIR.*DATABASE_URL/,
    );
    await opened.close();
    const { rows } = await old.query(
      `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
    );
    expect(rows).toEqual([
      { relname: 'account' },
      { relname: 'kysely_migration' },
    ]);
    await old.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });

  test('works for an owner who may neither create roles nor do everything', async () => {
    const name = `owned_${Date.now()}`;
    const admin = new pg.Client({ connectionString: inject('postgresUrl') });
    await admin.connect();
    await admin.query(`create role ${name} login password 'p'`);
    await admin.query(`create database ${name} owner ${name}`);
    // Roles belong to the whole server, so an administrator has made and
    // granted them.
    await admin.query(
      `grant exchange_app, exchange_system, exchange_admin to ${name}`,
    );
    const url = new URL(inject('postgresUrl'));
    [url.pathname, url.username, url.password] = [`/${name}`, name, 'p'];
    const owned = createStore({ databaseUrl: url.href, poolMax: 2 });
    await owned.migrate();
    const seeded = await seedDemoAccount(owned, {
      apiKey: generateApiKey(),
      webhookKeys,
    });
    expect(seeded.facilityId).toBeDefined();
    await owned.close();
    await admin.query(`drop database ${name} with (force)`);
    await admin.query(`drop role ${name}`);
    await admin.end();
  });
});

describe('seeding', () => {
  test('twice is seeding once, and the key works', async ({ store }) => {
    const apiKey = generateApiKey();
    const first = await seedDemoAccount(store, { apiKey, webhookKeys });
    const again = await seedDemoAccount(store, { apiKey, webhookKeys });
    expect(again).toEqual(first);
    const { rows } = await store.asSystem((tx) =>
      sql`select (select count(*) from account) as accounts, (select count(*) from facility) as facilities,
            (select count(*) from api_key) as keys`.execute(tx.db),
    );
    expect(rows).toEqual([{ accounts: 1, facilities: 1, keys: 1 }]);
    const hash = parseApiKey(apiKey)?.hash ?? Buffer.alloc(0);
    const holder = (await findKeysByHash(store, [hash])).get(
      hash.toString('hex'),
    );
    expect(holder?.account.settings).toEqual({
      sources: {
        hie: { enabled: true },
        pharmacy: { enabled: true },
        lab: { enabled: true },
      },
      limits: {
        requestsPerMinute: 120_000,
        networkQueriesPerMinute: 12_000,
        pharmacyRealtimePerDay: 100_000,
        consolidatedQueriesPerMinute: 12_000,
        messagesPerMinute: 6_000,
      },
    });
  });

  test('of an account behind a gateway twice is seeding once, where the gateway is now', async ({
    store,
  }) => {
    const apiKey = generateApiKey();
    const seed = (port: number) => {
      const gateway = `http://127.0.0.1:${port}`;
      return seedGatewayAccount(store, {
        apiKey,
        keyRing: testKeyRing(),
        gateway: {
          discoveryUrl: `${gateway}/discovery`,
          queryUrl: `${gateway}/query`,
          retrieveUrl: `${gateway}/retrieve`,
          submissionUrl: `${gateway}/submission`,
          homeCommunity: '2.999.7',
          ownHomeCommunity: '2.999.1',
        },
      });
    };
    const first = await seed(4001);
    expect(await seed(4002)).toEqual(first);
    const connections = await store.asSystem((tx) =>
      listConnections(tx, first.accountId),
    );
    expect(connections).toMatchObject([
      {
        source: 'hie',
        baseUrl: 'http://127.0.0.1:4002/discovery',
        settings: { ihe: { queryUrl: 'http://127.0.0.1:4002/query' } },
        enabled: true,
      },
    ]);
  });

  test('keeps the webhook key when the stack’s receiver moves to another port', async ({
    store,
  }) => {
    const apiKey = generateApiKey();
    const first = await seedDemoAccount(store, {
      apiKey,
      webhookKeys,
      webhookUrl: 'http://127.0.0.1:1/hook',
    });
    const moved = await seedDemoAccount(store, {
      apiKey,
      webhookKeys,
      webhookUrl: 'http://127.0.0.1:2/hook',
    });
    expect(moved.webhookKey).toBe(first.webhookKey);
  });
});
