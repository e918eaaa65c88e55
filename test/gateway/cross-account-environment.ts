import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import pg from 'pg';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { createBulkCreateService } from '../../src/exchange/people/bulk-create/service.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createNetworkQueryService } from '../../src/exchange/queries/network-query/service.ts';
import { createSweepControl } from '../../src/exchange/queries/sweep/control.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
} from '../support/gateway.ts';
import { consentBody } from './every-operation/cases/consents.ts';
import { contributionBody } from './every-operation/cases/contribution.ts';

/** One thing of each kind, all of one account. */
export type Owned = Readonly<
  Record<
    | 'patient'
    | 'cohort'
    | 'facility'
    | 'query'
    | 'redrive'
    | 'bulk'
    | 'consolidated'
    | 'webhook'
    | 'notification'
    | 'message'
    | 'document'
    | 'fileName'
    | 'session'
    | 'identity'
    | 'challenge'
    | 'event'
    | 'duplicate'
    | 'consent'
    | 'contribution'
    | 'healthLink'
    | 'externalId',
    string
  >
>;

/** What no operation makes by itself. */
const MADE_BY_HAND = [
  ...([
    'subject',
    'notification',
    'message',
    'document',
    'session',
    'identity',
  ] as const),
  ...(['challenge', 'event', 'duplicate'] as const),
] as const;

/**
 * A gateway that is in the database as a deployment's is: by a login that owns
 * nothing and may only take our two roles. Steering is the real one, before a
 * Temporal server that nobody reaches.
 */
export async function createCrossAccountEnvironment() {
  const base = await createTestGateway();
  const admin = new pg.Client({ connectionString: base.databaseUrl });
  await admin.connect();
  const hashes = await hashesOfTables(admin);
  const login = `app_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await admin.query(
    `create role ${login} login nosuperuser nobypassrls password '${password}'`,
  );
  await admin.query(`grant exchange_app, exchange_system to ${login}`);
  const url = Object.assign(new URL(base.databaseUrl), {
    username: login,
    password,
  });
  const store = createStore({ databaseUrl: url.href, poolMax: 4 });
  const temporal = new Client({
    connection: await openConnection(
      { address: '127.0.0.1:1' },
      { lazy: true },
    ),
  });
  const webhookDispatcher = { send: () => undefined, resume: () => undefined };
  const logger = pino({ level: 'silent' });
  const real = {
    store,
    temporal,
    logger,
    webhookDispatcher,
    blobs: base.blobs,
  };
  const limited = await createTestGateway({
    store,
    blobs: base.blobs,
    networkQueries: createNetworkQueryService({
      ...real,
      callbackKey: TEST_LINK_KEY,
    }),
    bulkCreates: { ...createBulkCreateService(real), launch: () => undefined },
    querySweeps: createSweepControl(real),
    identityPartner: {
      openSession: async () => ({ url: 'https://identity.example.org/' }),
      openChallenge: async () => ({
        url: 'https://identity.example.org/',
        method: 'totp',
      }),
    },
    messages: { launch: () => undefined },
  });
  return {
    base,
    app: limited.app,
    /** What the database holds of an account, table by table. */
    async contentOf(accountId: string): Promise<Record<string, string>> {
      const { rows } = await admin.query<{ name: string; hash: string }>(
        hashes,
        [accountId],
      );
      return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]));
    },
    addEverything: (account: TestAccount) => addEverything(admin, account),
    async close() {
      await limited.close();
      await store.close();
      await admin.query(`drop role ${login}`);
      await admin.end();
      await base.close();
    },
  };
}

/** One statement that hashes the rows of account $1 in each table. */
async function hashesOfTables(admin: pg.Client): Promise<string> {
  const { rows } = await admin.query<{ name: string }>(
    `select distinct table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'account_id'`,
  );
  const hashOf = (name: string) =>
    `select '${name}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash
     from ${name} t where account_id = $1`;
  return rows.map(({ name }) => hashOf(name)).join(' union all ');
}

async function addEverything(
  admin: pg.Client,
  account: TestAccount,
): Promise<Owned> {
  const externalId = `chart-${randomBytes(4).toString('hex')}`;
  const make = async (url: string, body?: unknown) => {
    const answer = await account.call('POST', url, body);
    if (answer.statusCode >= 300) throw new Error(`${url}: ${answer.body}`);
    return answer.json();
  };
  const person = newPerson({ externalId });
  const patient = (
    await make(`patient?facilityId=${account.facilityId}`, person)
  ).id;
  const cohort = (await make('cohort', { name: 'Owned' })).id;
  await make(`patient/${patient}/cohort`, { cohortIds: [cohort] });
  const query = (
    await make(`network/query?patientId=${patient}`, {
      sources: { hie: { enabled: true } },
    })
  ).requestId;
  const owned = {
    externalId,
    patient,
    cohort,
    query,
    facility: account.facilityId,
    redrive: (
      await make('network/redrive', {
        source: 'pharmacy',
        failedFrom: '2026-01-01T00:00:00Z',
      })
    ).requestId,
    bulk: (await make(`patient/bulk?facilityId=${account.facilityId}`))
      .requestId,
    consolidated: (await make(`patient/${patient}/consolidated/query`))
      .requestId,
    consent: (await make(`patient/${patient}/consent`, consentBody())).id,
    contribution: (
      await make(`patient/${patient}/consolidated`, contributionBody())
    ).id,
    healthLink: (await make(`patient/${patient}/health-link`)).id,
    webhook: (
      await make('webhook', {
        url: 'https://hooks.example.org/owned',
        types: ['*'],
      })
    ).id,
  };
  const rows = Object.fromEntries(
    MADE_BY_HAND.map((kind) => [kind, uuidv7()]),
  ) as Record<(typeof MADE_BY_HAND)[number], string>;
  const fileName = `${rows.document}.xml`;
  const insert = (table: string, row: Record<string, unknown>) => {
    const all = { account_id: account.accountId, ...row };
    const given = Object.entries(all).filter(
      ([, value]) => value !== undefined,
    );
    return admin.query(
      `insert into ${table} (${given.map(([name]) => name).join()}) values (${given.map((_, n) => `$${n + 1}`).join()})`,
      given.map(([, value]) => value),
    );
  };
  const now = new Date();
  await insert('inbound_subject', {
    account_id: undefined,
    id: rows.subject,
    sender: 's',
    kind: 'encounter',
    source_key: randomBytes(8),
  });
  await insert('notification', {
    id: rows.notification,
    patient_id: patient,
    subject_id: rows.subject,
    type: 'patient.discharge',
    fact_key: 'f',
    sender: 's',
    occurred_at: now,
  });
  await insert('message', {
    id: rows.message,
    patient_id: patient,
    direction: 'inbound',
    status: 'completed',
    transport_method: 'direct',
    destination: 'a@direct.example.org',
    subject: 'Owned',
  });
  await insert('document', {
    id: rows.document,
    patient_id: patient,
    query_id: query,
    source: 'hie',
    kind: 'attachment',
    file_name: fileName,
    content_type: 'application/xml',
    size_bytes: 1,
    sha256: randomBytes(32),
    blob_ref: `document/${randomBytes(16).toString('hex')}`,
  });
  await insert('identity_session', {
    id: rows.session,
    patient_id: patient,
    redirect_url: 'https://app.example.org/',
    expires_at: now,
  });
  await insert('proofed_identity', {
    id: rows.identity,
    patient_id: patient,
    session_id: rows.session,
    subject: 'p',
    verified_at: now,
  });
  await insert('aal2_challenge', {
    id: rows.challenge,
    proofed_identity_id: rows.identity,
    redirect_url: 'https://app.example.org/',
    status: 'verified',
    expires_at: now,
    session_hash: randomBytes(32),
    session_expires_at: '2100-01-01',
  });
  await insert('event', {
    id: rows.event,
    patient_id: patient,
    type: 'network-query.hie',
    fact_key: 'owned',
    body: '{}',
    occurred_at: now,
    status: 'dead',
  });
  // A person whom a create does not report as a possible duplicate.
  const stranger = newPerson({
    dob: '1947-11-30',
    lastName: 'Okonkwo',
    firstName: 'Ifeanyi',
  });
  const other = (
    await make(`patient?facilityId=${account.facilityId}`, stranger)
  ).id;
  const [first, second] = [patient, other].sort();
  await insert('possible_duplicate', {
    id: rows.duplicate,
    patient_id: first,
    other_patient_id: second,
    grade: 'possible',
    score: 0.5,
    agrees: [],
    rules_version: 1,
  });
  const { subject: _, ...others } = rows;
  return { ...owned, ...others, fileName };
}
