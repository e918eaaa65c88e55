import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { acceptLoss } from '../../src/exchange/operations/admin/audit.ts';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import { insertAuditEntry } from '../../src/exchange/platform/audit/audit-store.ts';
import {
  createAuditChain,
  type SignedAuditHead,
} from '../../src/exchange/platform/audit/chain.ts';
import type { AuditHeads } from '../../src/exchange/platform/audit/heads.ts';
import { openAuditHeads } from '../../src/exchange/platform/audit/open-heads.ts';
import { auditSealing } from '../../src/exchange/platform/audit/sealer.ts';
import { verifyChain } from '../../src/exchange/platform/audit/verify.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { createTestStore, type TestStore } from '../support/postgres.ts';
import { takeUp } from '../support/take-up.ts';
import { testKeyRing } from '../support/test-keys.ts';

const KEY = 'audit-key-of-the-tests-only';
const chain = createAuditChain([KEY]);
const PATIENT = '0198a000-0000-7000-8000-00000000000a';

let database: TestStore;
let store: Store;
/** Somebody who may do everything in the database. */
let intruder: pg.Client;
let folder: string;
let heads: AuditHeads;
const logged: string[] = [];
beforeAll(async () => {
  database = await createTestStore({ poolMax: 6 });
  ({ store } = database);
  intruder = new pg.Client({ connectionString: database.databaseUrl });
  await intruder.connect();
  folder = await mkdtemp(join(tmpdir(), 'audit-heads-'));
  heads = await openAuditHeads(pathToFileURL(folder).href);
});
afterAll(async () => {
  await intruder.end();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

const sealing = () =>
  auditSealing({
    store,
    chain,
    heads,
    logger: pino({}, { write: (line: string) => void logged.push(line) }),
  });
const seal = () => takeUp(sealing(), 500);
const verify = (accountId: string, by = chain) =>
  verifyChain({ store, chain: by, heads }, accountId);

const entry = (n: number) => ({
  actor: `key:${n}`,
  operation: 'updatePatient',
  patientId: PATIENT,
  outcome: '200',
  remoteAddress: '192.0.2.7',
});

async function addAccount(entries: number): Promise<string> {
  const accountId = uuidv7();
  await store.asSystem((tx) =>
    insertAccount(tx, { id: accountId, name: 'Audited', settings: {} }),
  );
  await Promise.all(
    Array.from({ length: entries }, (_, n) =>
      store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry(n))),
    ),
  );
  return accountId;
}

async function sealedAccount(entries = 5): Promise<string> {
  const accountId = await addAccount(entries);
  await seal();
  return accountId;
}
const tamper = (text: string, accountId: string) =>
  intruder.query(text, [accountId]);

describe('an audit that nobody touched', () => {
  test('is whole, though entries were written at once and sealed by two', async () => {
    const accountId = await addAccount(30);
    await Promise.all([seal(), seal()]);
    expect(await verify(accountId)).toMatchObject({
      verified: 30,
      unsealed: 0,
      headPosition: 30,
    });
    expect((await verify(accountId)).fault).toBeUndefined();
  });

  test('is whole when a transaction commits after later ones were sealed', async () => {
    const accountId = await addAccount(0);
    await store.asAccount(accountId, async (tx) => {
      await insertAuditEntry(tx, entry(1));
      await store.asAccount(accountId, (later) =>
        insertAuditEntry(later, entry(2)),
      );
      await seal();
    });
    expect(await verify(accountId)).toMatchObject({ verified: 1, unsealed: 1 });
    await seal();
    expect(await verify(accountId)).toMatchObject({ verified: 2, unsealed: 0 });
  });

  test('is still whole after the key was changed, while the old one is kept', async () => {
    const accountId = await sealedAccount();
    const rotated = createAuditChain(['the-next-key-of-the-tests', KEY]);
    await store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry(9)));
    await takeUp(
      auditSealing({
        store,
        chain: rotated,
        heads,
        logger: pino({ level: 'silent' }),
      }),
      500,
    );
    expect((await verify(accountId, rotated)).fault).toBeUndefined();
    expect((await verify(accountId)).fault).toBeDefined();
  });
});

describe('verifying tells the first entry that', () => {
  test.each([
    ["actor = 'key:someone-else'", 3],
    ["at = at + interval '1 microsecond'", 3],
    ['patient_id = null', 3],
    ["target_id = ''", 3],
    ['mac = sha256(mac)', 3],
    ['times = 2', 3],
    ["since = 'epoch'", 3],
    ["details = '{}'", 3],
  ])('was changed: %s', async (change, position) => {
    const accountId = await sealedAccount();
    await tamper(
      `update audit_entry set ${change} where account_id = $1 and position = 3`,
      accountId,
    );
    expect(await verify(accountId)).toMatchObject({
      verified: 2,
      fault: { what: 'changed', position },
    });
  });

  test('was removed, also when the ones behind it closed up', async () => {
    const accountId = await sealedAccount();
    await tamper(
      'delete from audit_entry where account_id = $1 and position = 2',
      accountId,
    );
    expect((await verify(accountId)).fault).toEqual({
      what: 'removed',
      position: 2,
    });
    await tamper(
      'update audit_entry set position = position - 1 where account_id = $1 and position = 3',
      accountId,
    );
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'changed',
      position: 2,
    });
  });

  test('is missing at the end, also when the head in the database was set back', async () => {
    const accountId = await sealedAccount();
    await tamper(
      'delete from audit_entry where account_id = $1 and position > 3',
      accountId,
    );
    expect((await verify(accountId)).fault).toEqual({
      what: 'cut-off',
      position: 4,
    });
    await tamper(
      `update audit_head h set position = 3, mac = e.mac from audit_entry e
       where h.account_id = $1 and e.account_id = $1 and e.position = 3`,
      accountId,
    );
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'cut-off',
      position: 4,
    });
    // What is written and sealed after the cut does not cover it up.
    for (const n of [1, 2, 3])
      await store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry(n)));
    await seal();
    expect(await verify(accountId)).toMatchObject({
      verified: 7,
      fault: { what: 'cut-off', position: 4, loss: { from: 4, to: 5 } },
    });
    expect(logged.join('')).toContain('does not continue the external head');
    expect((await heads.read(accountId))?.position).toBe(5);
  });

  test('is of an account that was removed as a whole', async () => {
    const accountId = await sealedAccount(2);
    await tamper('delete from audit_entry where account_id = $1', accountId);
    await tamper('delete from audit_head where account_id = $1', accountId);
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'cut-off',
      position: 1,
    });
  });

  test('or that the head kept elsewhere is not ours', async () => {
    const accountId = await sealedAccount(2);
    const head = await heads.read(accountId);
    await writeFile(
      join(folder, `${accountId}.json`),
      JSON.stringify({ ...head, position: 1 }),
    );
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'head not ours',
    });
  });
});

/**
 * What a restore from a backup leaves: the first entries, and the head that the
 * database had then.
 */
async function restoredTo(accountId: string, position: number): Promise<void> {
  await tamper(
    `delete from audit_entry where account_id = $1 and position > ${position}`,
    accountId,
  );
  await tamper(
    `update audit_head h set position = e.position, mac = e.mac from audit_entry e
     where h.account_id = $1 and e.account_id = $1 and e.position = ${position}`,
    accountId,
  );
}
const said = { by: 'J. Operator', reason: 'restored the backup of Friday' };
const accept = (accountId: string) =>
  acceptLoss({ store, chain, heads }, accountId, said);

describe('a loss by a restore', () => {
  test.each(['before anything new was sealed', 'after that'])(
    'that is accepted %s is told of for good',
    async (when) => {
      const accountId = await sealedAccount();
      await restoredTo(accountId, 3);
      const isLater = when === 'after that';
      if (isLater) {
        await store.asAccount(accountId, (tx) =>
          insertAuditEntry(tx, entry(6)),
        );
        await seal();
      }
      const loss = { from: 4, to: 5 };
      expect((await verify(accountId)).fault).toMatchObject({
        what: 'cut-off',
        position: 4,
        loss,
      });
      expect(await accept(accountId)).toMatchObject({ kind: 'accepted', loss });
      for (const n of [7, 8]) {
        await store.asAccount(accountId, (tx) =>
          insertAuditEntry(tx, entry(n)),
        );
        await seal();
        const report = await verify(accountId);
        expect(report.fault).toBeUndefined();
        expect(report).toMatchObject({
          losses: [{ ...loss, ...said }],
          headPosition: report.verified,
        });
      }
      expect(await accept(accountId)).toEqual({ kind: 'whole' });
      await tamper(
        "update audit_entry set details = '{}' where account_id = $1 and details like '%Friday%'",
        accountId,
      );
      expect((await verify(accountId)).fault).toMatchObject({
        what: 'changed',
        position: isLater ? 6 : 4,
      });
    },
  );

  test('can happen again', async () => {
    const accountId = await sealedAccount();
    for (const position of [4, 3]) {
      await restoredTo(accountId, position);
      expect(await accept(accountId)).toMatchObject({
        kind: 'accepted',
        loss: { from: position + 1, to: 5 },
      });
    }
    expect(await verify(accountId)).toMatchObject({
      verified: 4,
      losses: [{ from: 4 }],
    });
  });

  test('that nobody accepted stays found when the head kept elsewhere is removed', async () => {
    const accountId = await sealedAccount();
    await restoredTo(accountId, 3);
    const more = () =>
      store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry(6)));
    await more();
    await seal();
    await rm(join(folder, `${accountId}.json`));
    await more();
    await seal();
    expect(await verify(accountId)).toMatchObject({
      fault: { what: 'cut-off', position: 4 },
      headPosition: null,
    });
  });

  test('takes an account that is younger than the backup along', async () => {
    const accountId = await sealedAccount(2);
    for (const table of ['audit_entry', 'audit_head'])
      await tamper(`delete from ${table} where account_id = $1`, accountId);
    await tamper('delete from account where id = $1', accountId);
    expect(await accept(accountId)).toMatchObject({
      kind: 'accepted',
      loss: { from: 1, to: 2 },
    });
    const report = await verify(accountId);
    expect(report.fault).toBeUndefined();
    expect(report.losses).toMatchObject([{ from: 1, to: 2, ...said }]);
    expect(await accept(accountId)).toEqual({ kind: 'whole' });
  });

  test.each([
    [
      'an entry that was changed',
      "update audit_entry set actor = 'x' where account_id = $1 and position = 2",
    ],
    [
      'one that is gone',
      'delete from audit_entry where account_id = $1 and position = 2',
    ],
    [
      'an end that only the entries lack',
      'delete from audit_entry where account_id = $1 and position > 3',
    ],
  ])('is not: %s', async (_what, text) => {
    const accountId = await sealedAccount();
    await tamper(text, accountId);
    expect(await accept(accountId)).toMatchObject({ kind: 'refused' });
    expect((await verify(accountId)).fault).toBeDefined();
  });
});

describe('a head kept elsewhere', () => {
  const more = (accountId: string) =>
    store.asAccount(accountId, (tx) => insertAuditEntry(tx, entry(6)));

  test('that is missing is missed, and no sealing makes it anew', async () => {
    const accountId = await sealedAccount(5);
    await rm(join(folder, `${accountId}.json`));
    expect((await verify(accountId)).fault).toEqual({
      what: 'head missing',
      position: 6,
    });
    // The entries that it vouched for can be cut off now, in every place of the
    // database.
    await restoredTo(accountId, 3);
    await more(accountId);
    await seal();
    expect(await verify(accountId)).toMatchObject({
      verified: 4,
      headPosition: null,
      fault: { what: 'head missing', position: 5 },
    });
    expect(logged.join('')).toContain('the external audit head is missing');
    expect(await heads.read(accountId)).toBeUndefined();
  });

  test.each([
    { position: 0, mac: '' },
    { sealedAt: '2020-01-01T00:00:00.000Z' },
  ])(
    'that was changed (%j) is not made good by sealing either',
    async (change) => {
      const accountId = await sealedAccount(3);
      const head = await heads.read(accountId);
      await writeFile(
        join(folder, `${accountId}.json`),
        JSON.stringify({ ...head, ...change }),
      );
      await more(accountId);
      await seal();
      expect((await verify(accountId)).fault).toMatchObject({
        what: 'head not ours',
      });
    },
  );

  test('is there before the first entry is sealed, so a kill in between leaves nothing to answer for', async () => {
    const accountId = await addAccount(2);
    const killed = new Error('killed');
    const write = async (head: SignedAuditHead) => {
      if (head.position > 0) throw killed;
      await heads.write(head);
    };
    const deps = {
      store,
      chain,
      heads: { ...heads, write },
      logger: pino({ level: 'silent' }),
    };
    await expect(takeUp(auditSealing(deps), 500)).rejects.toThrow(killed);
    expect(await verify(accountId)).toMatchObject({
      verified: 2,
      headPosition: 0,
    });
    expect((await verify(accountId)).fault).toBeUndefined();
    await more(accountId);
    await seal();
    expect(await verify(accountId)).toMatchObject({
      verified: 3,
      headPosition: 3,
    });
  });

  test('begins anew on an operator’s word, which stays in the chain; so do heads that are kept from now on', async () => {
    const accountId = await addAccount(3);
    await takeUp(
      auditSealing({ store, chain, logger: pino({ level: 'silent' }) }),
      500,
    );
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'head missing',
    });
    expect(await accept(accountId)).toEqual({
      kind: 'head renewed',
      position: 3,
    });
    await more(accountId);
    await seal();
    const report = await verify(accountId);
    expect(report.fault).toBeUndefined();
    expect(report).toMatchObject({
      verified: 5,
      headPosition: 5,
      renewedHeads: [{ position: 3, ...said }],
    });
    expect(await accept(accountId)).toEqual({ kind: 'whole' });
  });
});

describe('the application', () => {
  test.each(['at', 'id', 'position, mac'])(
    'cannot choose %s of an entry, as itself or as the system',
    async (columns) => {
      const accountId = await addAccount(1);
      const values = { at: "'2020-01-01'", id: '1', 'position, mac': "1, ''" }[
        columns
      ];
      for (const role of ['exchange_app', 'exchange_system']) {
        await intruder.query('begin');
        await intruder.query(`set local role ${role}`);
        await intruder.query(`set local app.account_id = '${accountId}'`);
        const insert = `insert into audit_entry (account_id, actor, operation, outcome, ${columns}) overriding system value
          values ('${accountId}', 'key:1', 'getPatient', '200', ${values})`;
        await expect(intruder.query(insert)).rejects.toMatchObject({
          code: '42501',
        });
        await intruder.query('rollback');
      }
    },
  );

  test.each(['delete from audit_entry', "update audit_entry set actor = 'x'"])(
    'cannot %s, as itself or as the system',
    async (text) => {
      for (const role of ['exchange_app', 'exchange_system']) {
        await intruder.query('begin');
        await intruder.query(`set local role ${role}`);
        await intruder.query(`set local app.account_id = '${PATIENT}'`);
        await expect(intruder.query(text)).rejects.toMatchObject({
          code: '42501',
        });
        await intruder.query('rollback');
      }
    },
  );
});

describe('the CLI', () => {
  const run = async (...argv: string[]) => {
    const out: string[] = [];
    const exitCode = await runAdmin(argv, {
      write: (text) => void out.push(text),
      writeError: (text) => void out.push(text),
      open: async () => ({
        store: { ...store, close: async () => undefined },
        openKeyRing: async () => testKeyRing(),
        openAudit: async () => ({ chain, heads }),
        openTemporal: () => Promise.reject(new Error('not asked for here')),
        openBlobs: () => Promise.reject(new Error('not asked for here')),
      }),
    });
    return { exitCode, out: out.join('') };
  };

  test('exits with 3 and names the entry when an audit is not whole', async () => {
    const accountId = await sealedAccount();
    expect(await run('audit', 'verify', '--account', accountId)).toMatchObject({
      exitCode: 0,
    });
    await tamper(
      "update audit_entry set outcome = '404' where account_id = $1 and position = 4",
      accountId,
    );
    const { exitCode, out } = await run(
      'audit',
      'verify',
      '--account',
      accountId,
    );
    expect(exitCode).toBe(3);
    expect(out).toMatch(
      /FAULT: entry 4 \(id \d+\) was changed; the 3 entries before/,
    );
  });

  test('accepts a loss with a name and a reason, and tells of it with exit code 0', async () => {
    const accountId = await sealedAccount();
    await restoredTo(accountId, 3);
    const lost = await run('audit', 'verify', '--account', accountId);
    expect(lost).toMatchObject({
      exitCode: 3,
      out: expect.stringContaining('audit accept-loss'),
    });
    const nameless = [
      'audit',
      'accept-loss',
      '--account',
      accountId,
      '--by',
      ' ',
      '--reason',
      'x',
    ];
    expect((await run(...nameless)).exitCode).toBe(2);
    const why = ['--by', said.by, '--reason', said.reason];
    expect((await run('audit', 'accept-loss', ...why)).exitCode).toBe(2);
    const accepted = await run(
      'audit',
      'accept-loss',
      '--account',
      accountId,
      ...why,
    );
    expect(accepted).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('entries 4 to 5'),
    });
    expect(await run('audit', 'verify', '--account', accountId)).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(
        /verified: 4 entries.*\n +lost: entries 4 to 5 .*written after .* by J\. Operator: restored/,
      ),
    });
    const { out } = await run('audit', 'export', '--account', accountId);
    expect(fhirIssues(JSON.parse(out.trim().split('\n').at(-1) ?? ''))).toEqual(
      [],
    );
    expect(
      (await run('audit', 'accept-loss', '--account', accountId, ...why))
        .exitCode,
    ).toBe(2);
  });

  test('exports valid FHIR AuditEvents of a time, in order, with ids only', async () => {
    const accountId = await sealedAccount(3);
    const { out } = await run(
      'audit',
      'export',
      '--account',
      accountId,
      '--from',
      '2020-01-01',
    );
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toHaveLength(3);
    for (const event of events) expect(fhirIssues(event)).toEqual([]);
    expect(events[0]).toMatchObject({
      action: 'U',
      outcome: '0',
      agent: [
        { requestor: true, network: { address: '192.0.2.7' } },
        { requestor: false },
      ],
      entity: [
        { what: { reference: `Patient/${PATIENT}` } },
        { role: { code: '4' } },
        { detail: [{ valueString: '1' }, {}] },
      ],
    });
    const none = await run(
      'audit',
      'export',
      '--account',
      accountId,
      '--to',
      '2020-01-01',
    );
    expect(none).toEqual({ exitCode: 0, out: '' });
  });

  test('exports refusals, single and counted, and dead keys as failed logins; and verifies them', async () => {
    const accountId = await addAccount(0);
    const since = new Date('2026-11-21T10:00:00Z');
    for (const record of [
      { ...entry(1), outcome: '401 revoked' },
      {
        actor: 'key:1',
        operation: 'getPatient',
        outcome: '404',
        many: { times: 37, since },
      },
    ])
      await store.asAccount(accountId, (tx) => insertAuditEntry(tx, record));
    await seal();
    expect(await verify(accountId)).toMatchObject({ verified: 2, unsealed: 0 });
    expect((await verify(accountId)).fault).toBeUndefined();
    const { out } = await run('audit', 'export', '--account', accountId);
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const event of events) expect(fhirIssues(event)).toEqual([]);
    expect(events).toMatchObject([
      {
        type: { code: '110114' },
        action: 'E',
        outcome: '4',
        outcomeDesc: '401 revoked',
      },
      {
        action: 'R',
        outcome: '4',
        period: { start: '2026-11-21T10:00:00.000000Z' },
        entity: [
          { detail: [{ type: 'times', valueString: '37' }] },
          { name: 'audit chain' },
        ],
      },
    ]);
    await tamper(
      'update audit_entry set times = 1 where account_id = $1 and position = 2',
      accountId,
    );
    expect((await verify(accountId)).fault).toMatchObject({
      what: 'changed',
      position: 2,
    });
  });
});
