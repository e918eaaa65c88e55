import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import { insertAuditEntry } from '../../src/exchange/platform/audit/audit-store.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { ensureServiceLogin } from '../../tools/embedded/stack-facts.ts';
import { createTestStore, type TestStore } from '../support/postgres.ts';
import { ROLES, TABLE_GRANTS } from './role-grants.ts';

const ONE = '0198a000-0000-7000-8000-000000000001';
const OTHER = '0198a000-0000-7000-8000-000000000002';
const PASSWORD = 'of the service';

let database: TestStore;
let owner: pg.Client;
let service: pg.Client;
let backup: pg.Client;
let backupLogin: string;
let store: Store;
beforeAll(async () => {
  database = await createTestStore({ poolMax: 2 });
  ({ store } = database);
  for (const id of [ONE, OTHER]) {
    await store.asSystem((tx) =>
      insertAccount(tx, { id, name: 'Test', settings: {} }),
    );
    const entry = {
      actor: 'test',
      operation: 'read',
      outcome: 'done',
    } as const;
    await store.asAccount(id, (tx) => insertAuditEntry(tx, entry));
  }
  owner = new pg.Client({ connectionString: database.databaseUrl });
  service = new pg.Client({
    connectionString: await ensureServiceLogin(database.databaseUrl, PASSWORD),
  });
  await Promise.all([owner.connect(), service.connect()]);
  backupLogin = `backup_${randomBytes(4).toString('hex')}`;
  await owner.query(
    `create role ${backupLogin} login noinherit password 'p' in role exchange_backup`,
  );
  const url = Object.assign(new URL(database.databaseUrl), {
    username: backupLogin,
    password: 'p',
  });
  backup = new pg.Client({ connectionString: url.href });
  await backup.connect();
});
afterAll(async () => {
  await Promise.all([service.end(), backup.end()]);
  await owner.query(`drop role ${backupLogin}`);
  await owner.end();
  await database.close();
});

/**
 * The rights that a role effectively has, inherited ones included, in the
 * notation of role-grants.ts.
 */
const EFFECTIVE_GRANTS = `
  select c.relname as name, coalesce(jsonb_object_agg(r.role, granted.rights) filter (where granted.rights <> ''), '{}') as grants
  from pg_class c cross join unnest($1::text[]) as r(role) cross join lateral (
    select coalesce(string_agg(
      case when has_table_privilege(r.role, c.oid, p.name) then p.letter
        else p.letter || '(' || columns.names || ')' end, '' order by p.place), '') as rights
    from (values (1, 'S', 'SELECT'), (2, 'I', 'INSERT'), (3, 'U', 'UPDATE'), (4, 'D', 'DELETE'), (5, 'T', 'TRUNCATE'),
      (6, 'R', 'REFERENCES'), (7, 'G', 'TRIGGER')) as p(place, letter, name)
    cross join lateral (
      select string_agg(a.attname, ',' order by a.attname) as names from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and p.name in ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
        and has_column_privilege(r.role, c.oid, a.attnum,
          case when p.name in ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES') then p.name else 'SELECT' end)
    ) as columns
    where has_table_privilege(r.role, c.oid, p.name) or columns.names is not null
  ) as granted
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
  group by c.relname`;

describe('each role may do what was decided for it', () => {
  test('with every table and view; one without a decision in role-grants.ts fails', async () => {
    const { rows } = await owner.query<{ name: string; grants: object }>(
      EFFECTIVE_GRANTS,
      [ROLES],
    );
    expect(
      Object.fromEntries(rows.map(({ name, grants }) => [name, grants])),
    ).toEqual(TABLE_GRANTS);
  });

  test('and none can log in, owns anything, creates anything or gets around row-level security', async () => {
    const { rows } = await owner.query(
      `select rolname from pg_roles r where rolname = any($1) and (rolcanlogin or rolsuper or rolcreaterole or rolcreatedb
         or rolbypassrls or rolreplication or has_schema_privilege(oid, 'public', 'CREATE')
         or has_database_privilege(oid, current_database(), 'CREATE')
         or exists (select from pg_class where relowner = r.oid) or exists (select from pg_proc where proowner = r.oid))`,
      [ROLES],
    );
    expect(rows).toEqual([]);
  });

  test('and a login that makes backups executes none of our functions', async () => {
    for (const call of [
      `known_api_keys('{}', '{}')`,
      `add_audit_entries('[]')`,
      `guard_account_table('account')`,
      `open_to_backup('account')`,
    ])
      await expect(
        as('exchange_backup', backup, `select ${call}`),
        call,
      ).rejects.toMatchObject({
        code: '42501',
      });
  });
});

describe('the login of gateway and worker', () => {
  test('reads nothing of its own: only with a role, and then that role’s rows', async () => {
    await expect(service.query('select * from patient')).rejects.toMatchObject({
      code: '42501',
    });
    const { rows } = await as(
      'exchange_app',
      service,
      'select id from account',
    );
    expect(rows).toEqual([{ id: ONE }]);
  });

  test.each([
    'set role exchange_admin',
    'set role exchange_backup',
    'set role postgres',
    'create table mine (id int)',
    'alter table patient disable row level security',
    'alter table audit_entry no force row level security',
    'drop policy own_account on patient',
    'truncate audit_entry',
    'drop table audit_entry',
    'delete from kysely_migration',
    `create or replace function known_api_keys(a bytea[], b uuid[]) returns int language sql as 'select 1'`,
    'alter system set log_statement = "all"',
    `copy patient to program 'cat'`,
    `select pg_read_file('/etc/passwd')`,
  ])('cannot: %s', async (statement) => {
    await expect(service.query(statement)).rejects.toMatchObject({
      code: '42501',
    });
  });

  test.each([
    ['exchange_app', `update audit_entry set outcome = 'changed'`],
    ['exchange_app', 'delete from audit_entry'],
    [
      'exchange_app',
      `insert into audit_entry (account_id, actor, operation, outcome, at) values ('${ONE}', 'a', 'b', 'c', '2020-01-01')`,
    ],
    ['exchange_app', 'select hash from api_key'],
    ['exchange_app', 'select mac from audit_head'],
    ['exchange_app', `update account set settings = '{}'`],
    ['exchange_app', 'delete from embed_token_revocation'],
    ['exchange_system', `update audit_entry set outcome = 'changed'`],
    ['exchange_system', 'delete from audit_entry'],
    ['exchange_system', 'delete from audit_head'],
    [
      'exchange_system',
      `insert into account (id, name) values ('${crypto.randomUUID()}', 'Smuggled')`,
    ],
    ['exchange_system', `update account set settings = '{}'`],
    [
      'exchange_system',
      `insert into api_key (id, account_id, prefix, hash) values ('${ONE}', '${ONE}', 'p', 'h')`,
    ],
    [
      'exchange_system',
      `update api_key set scopes = '{read,write,webhooks-admin}'`,
    ],
    ['exchange_system', 'update api_key set revoked_at = null'],
    ['exchange_system', 'delete from embed_token_revocation'],
  ])('as %s cannot: %s', async (role, statement) => {
    await expect(as(role, service, statement)).rejects.toMatchObject({
      code: '42501',
    });
  });

  test('cannot migrate, and npm run migrate says which login can', async () => {
    const url = await ensureServiceLogin(database.databaseUrl, PASSWORD);
    const migrate = spawnSync(process.execPath, ['src/migrate.ts'], {
      env: { PATH: process.env.PATH, DATABASE_URL: url },
      encoding: 'utf8',
    });
    expect(migrate.status).toBe(2);
    expect(migrate.stderr).toMatch(
      /^DATABASE_URL: this login may not change the schema\. Use the login that owns/,
    );
  });

  test('creates neither accounts nor keys through our own code either', async () => {
    const url = Object.assign(new URL(database.databaseUrl), {
      username: 'exchange_service',
      password: PASSWORD,
    });
    const own = createStore({ databaseUrl: url.href, poolMax: 1 });
    const key = {
      id: ONE,
      accountId: ONE,
      prefix: 'mdx_abcdefgh',
      hash: Buffer.from('h'),
    };
    await expect(
      own.asSystem((tx) => insertApiKey(tx, key)),
    ).rejects.toMatchObject({ code: '42501' });
    await own.close();
  });
});

describe('a backup', () => {
  test('reads all rows of all accounts and all sequences, without superuser and BYPASSRLS', async () => {
    const { rows: tables } = await owner.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`,
    );
    for (const { name } of tables) {
      const [all] = (await owner.query(`select count(*) from ${name}`)).rows;
      const [read] = (
        await as('exchange_backup', backup, `select count(*) from ${name}`)
      ).rows;
      expect(read, name).toEqual(all);
    }
    expect(
      (await as('exchange_backup', backup, 'select from account')).rowCount,
    ).toBe(2);
  });

  test('writes nothing', async () => {
    const readable = Object.entries(TABLE_GRANTS).filter(
      ([, grants]) => grants.exchange_backup,
    );
    for (const [table] of readable)
      await expect(
        as('exchange_backup', backup, `delete from ${table}`),
        table,
      ).rejects.toMatchObject({
        code: '42501',
      });
  });
});

test('what networks read has each column of the tables that it stands for', async () => {
  const { rows } = await owner.query(`
    select t.table_name || '.' || t.column_name as missing
    from information_schema.columns t join information_schema.views v using (table_name)
    where t.table_schema = 'public' and v.table_schema = 'responder' and not exists (
      select from information_schema.columns c where c.table_schema = 'responder'
        and c.table_name = t.table_name and c.column_name = t.column_name)`);
  expect(rows).toEqual([]);
});

/**
 * The statement in a transaction with this role, bound to account ONE, rolled
 * back.
 */
async function as(
  role: string,
  client: pg.Client,
  statement: string,
): Promise<pg.QueryResult> {
  await client.query(
    `begin; set local role ${role}; set local app.account_id = '${ONE}'`,
  );
  try {
    return await client.query(statement);
  } finally {
    await client.query('rollback');
  }
}
