import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  PutObjectLockConfigurationCommand,
} from '@aws-sdk/client-s3';
import pg from 'pg';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/config.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { acceptLoss } from '../../src/exchange/operations/admin/audit.ts';
import { insertAuditEntry } from '../../src/exchange/platform/audit/audit-store.ts';
import { createAuditChain } from '../../src/exchange/platform/audit/chain.ts';
import type { AuditHeads } from '../../src/exchange/platform/audit/heads.ts';
import { openAuditHeads } from '../../src/exchange/platform/audit/open-heads.ts';
import { auditSealing } from '../../src/exchange/platform/audit/sealer.ts';
import { verifyChain } from '../../src/exchange/platform/audit/verify.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { runAdminWith } from '../support/run-admin.ts';
import {
  findSeaweedFs,
  type S3Server,
  startSeaweedFs,
} from '../support/seaweedfs.ts';
import { takeUp } from '../support/take-up.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const found = await findSeaweedFs();
const title =
  'missing' in found
    ? `audit heads in S3 (skipped: no SeaweedFS, ${found.missing})`
    : 'audit heads in S3';
const chain = createAuditChain(['audit-key-of-the-tests-only']);

describe.skipIf('missing' in found)(title, () => {
  const Bucket = 'heads';
  let server: S3Server;
  let database: TestDatabase;
  let store: Store;
  let heads: AuditHeads;
  const addressOf = (bucket: string) =>
    `s3://${bucket}/audit?endpoint=${server.endpoint}`;
  beforeAll(async () => {
    server = await startSeaweedFs('path' in found ? found.path : '');
    await server.createBucket('unlocked');
    for (const name of ['unretained', Bucket])
      await server.client.send(
        new CreateBucketCommand({
          Bucket: name,
          ObjectLockEnabledForBucket: true,
        }),
      );
    const retention = { Mode: 'COMPLIANCE', Days: 1 } as const;
    const lock = {
      ObjectLockEnabled: 'Enabled',
      Rule: { DefaultRetention: retention },
    } as const;
    await server.client.send(
      new PutObjectLockConfigurationCommand({
        Bucket,
        ObjectLockConfiguration: lock,
      }),
    );
    heads = await openAuditHeads(addressOf(Bucket));
    database = await createTestDatabase();
    store = createStore({ databaseUrl: database.databaseUrl, poolMax: 4 });
    // The server needs a minute on a busy machine.
  });
  afterAll(async () => {
    await server?.close();
    await store?.close();
    await database?.drop();
  });

  const addEntries = async (accountId: string, count: number) => {
    const entry = {
      actor: 'key:1',
      operation: 'updatePatient',
      outcome: '200',
    };
    for (let n = 0; n < count; n++)
      await store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry));
    const logger = pino({ level: 'silent' });
    await takeUp(auditSealing({ store, chain, heads, logger }), 500);
  };
  const sealedAccount = async () => {
    const accountId = uuidv7();
    await store.asSystem((tx) =>
      insertAccount(tx, { id: accountId, name: 'Audited', settings: {} }),
    );
    await addEntries(accountId, 2);
    return accountId;
  };
  const verify = (accountId: string) =>
    verifyChain({ store, chain, heads }, accountId);
  /** The versions of an account's heads, the newest head first. */
  const versionsOf = async (accountId: string) => {
    const request = new ListObjectVersionsCommand({
      Bucket,
      Prefix: `audit/${accountId}/`,
    });
    return (await server.client.send(request)).Versions ?? [];
  };
  /**
   * What somebody does who controls the database: the last entries and the
   * database's own head go.
   */
  const cutOff = async (accountId: string, after: number) => {
    const intruder = new pg.Client({ connectionString: database.databaseUrl });
    await intruder.connect();
    await intruder.query(
      'delete from audit_entry where account_id = $1 and position > $2',
      [accountId, after],
    );
    await intruder.query(
      `update audit_head set position = $2,
       mac = (select mac from audit_entry where account_id = $1 and position = $2) where account_id = $1`,
      [accountId, after],
    );
    await intruder.end();
  };

  test('need a bucket whose objects are locked in compliance mode', async () => {
    const refused = openAuditHeads(addressOf('unlocked'));
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(openAuditHeads(addressOf('unretained'))).rejects.toThrow(
      'needs object lock with a default retention',
    );
  });

  test('follow the chain, and prove entries that were cut off together with the head of the database', async () => {
    const accountId = await sealedAccount();
    await addEntries(accountId, 3);
    expect(await verify(accountId)).toMatchObject({
      verified: 5,
      headPosition: 5,
    });
    expect((await verify(accountId)).fault).toBeUndefined();
    expect(await heads.accounts()).toContain(accountId);

    await cutOff(accountId, 2);
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'cut-off',
      position: 3,
    });
    await acceptLoss({ store, chain, heads }, accountId, {
      by: 'operator',
      reason: 'restored a backup',
    });
    const accepted = await verify(accountId);
    expect(accepted.fault).toBeUndefined();
    expect(accepted.losses).toHaveLength(1);
  });

  test('are neither deleted nor hidden nor replaced by an older one', async () => {
    const accountId = await sealedAccount();
    await addEntries(accountId, 1);
    const [newest, older] = await versionsOf(accountId);
    const named = { Bucket, Key: newest?.Key };
    const destroy = new DeleteObjectCommand({
      ...named,
      VersionId: newest?.VersionId,
    });
    await expect(server.client.send(destroy)).rejects.toMatchObject({
      name: 'AccessDenied',
    });
    await server.client.send(new DeleteObjectCommand(named));
    expect(await verify(accountId)).toMatchObject({ headPosition: 3 });

    await cutOff(accountId, 2);
    const again = { Bucket, Key: older?.Key, Body: 'again' };
    await server.client.send(new PutObjectCommand(again));
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'cut-off',
      position: 3,
    });
  });

  test('that were written over, or are under another name, are not ours', async () => {
    const first = await sealedAccount();
    const second = await sealedAccount();
    const [head] = await versionsOf(first);
    await server.client.send(
      new PutObjectCommand({ Bucket, Key: head?.Key, Body: '{}' }),
    );
    expect((await verify(first)).fault).toMatchObject({
      what: 'head not ours',
    });

    const signed = await heads.read(second);
    const Key = `audit/${second}/0000000000000-${signed?.signature.slice(0, 32)}.json`;
    await server.client.send(
      new PutObjectCommand({ Bucket, Key, Body: JSON.stringify(signed) }),
    );
    expect((await verify(second)).fault).toMatchObject({
      what: 'head not ours',
    });
  });

  test('moved from a folder prove what is cut off later, and an older head never follows a newer one', async () => {
    const folder = pathToFileURL(await makeTestFolder()).href;
    const inFolder = await openAuditHeads(folder);
    const accountId = await sealedAccount();
    const old = await heads.read(accountId);
    await addEntries(accountId, 3);
    const current = await heads.read(accountId);
    if (old === undefined || current === undefined)
      throw new Error('there are no heads');
    await inFolder.write(current);
    const to = `s3://${Bucket}/moved?endpoint=${server.endpoint}`;
    const copy = (from = folder) =>
      runAdminWith(
        { store, openAudit: async () => ({ chain }) },
        'audit',
        'copy-heads',
        '--from',
        from,
        '--to',
        to,
      );
    const mistyped = `${folder}-typo`;
    expect(await copy(mistyped)).toMatchObject({
      exitCode: 2,
      err: `--from: there is no folder ${mistyped}\n`,
    });
    expect(existsSync(new URL(mistyped))).toBe(false);
    expect(await copy()).toMatchObject({
      exitCode: 0,
      document: { copied: [accountId], present: [] },
    });
    expect(await copy()).toMatchObject({
      exitCode: 0,
      document: { copied: [], present: [accountId] },
    });

    const moved = await openAuditHeads(to);
    await cutOff(accountId, 2);
    const { fault } = await verifyChain(
      { store, chain, heads: moved },
      accountId,
    );
    expect(fault).toMatchObject({ what: 'cut-off', position: 3 });

    await inFolder.write(old);
    expect(await copy()).toMatchObject({
      exitCode: 3,
      document: { copied: [], newerThere: [accountId] },
    });
    await inFolder.write({ ...current, position: 9 });
    expect(await copy()).toMatchObject({
      exitCode: 3,
      document: { copied: [], notOurs: [accountId] },
    });
    expect(await moved.read(accountId)).toEqual(current);
  });

  test('that are missing are a fault', async () => {
    const accountId = await sealedAccount();
    const elsewhere = await openAuditHeads(
      `s3://${Bucket}/elsewhere?endpoint=${server.endpoint}`,
    );
    const report = await verifyChain(
      { store, chain, heads: elsewhere },
      accountId,
    );
    expect(report.fault).toMatchObject({ what: 'head missing' });
  });
});
