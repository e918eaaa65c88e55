import pg from 'pg';
import { describe, expect } from 'vitest';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import { findingsOf } from '../../src/exchange/operations/ops/findings.ts';
import { readOperationsReport } from '../../src/exchange/operations/ops/report.ts';
import { packingRecovery } from '../../src/exchange/records/packing/packing.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  smallSamples,
} from '../support/deliveries.ts';
import { recordTest } from '../support/fixtures.ts';
import type { Delivered } from '../support/merge-deliveries.ts';

const [sample] = smallSamples;
if (sample === undefined) throw new Error('the sample is gone');
const person = personOf(sample);
const ids = patientIdsOf(sample);
const whole = deliveriesOf(sample);
const SAID = ['--by', 'Ada Ops', '--reason', 'CHG-720'];

/** Each file has a database of its own, and so a mode of packing. */
const test = recordTest.extend(
  'operator',
  { scope: 'file' },
  ({ environment }, { onCleanup }) => {
    const { store, accountId } = environment;
    const owner = new pg.Pool({ connectionString: environment.databaseUrl });
    onCleanup(() => owner.end());
    const recovery = packingRecovery(store);

    /** A command line as it is typed, and what the screen shows. */
    const types = async (...argv: string[]) => {
      const out: string[] = [];
      const err: string[] = [];
      const refuse = () => Promise.reject(new Error('not asked for here'));
      const exitCode = await runAdmin(argv, {
        write: (text) => void out.push(text),
        writeError: (text) => void err.push(text),
        open: async () => ({
          store: { ...store, close: async () => undefined },
          openKeyRing: refuse,
          openAudit: refuse,
          openTemporal: refuse,
          openBlobs: refuse,
        }),
      });
      return { exitCode, out: out.join(''), err: err.join('') };
    };
    const round = (signal = new AbortController().signal, limit = 100) =>
      recovery.takeUp({ limit, signal, recheckBefore: new Date() });
    const deliver = async (
      patientId: string,
      deliveries: readonly Delivered[],
    ) => {
      for (const source of ['hie', 'lab', 'pharmacy'] as const) {
        const own = deliveries.filter((each) => each.source === source);
        if (own.length > 0)
          await environment.deliver(
            patientId,
            source,
            own,
            ids.get(source) ?? [],
          );
      }
      await environment.records.merge(accountId, patientId);
    };
    return {
      ...environment,
      owner,
      types,
      round,
      deliver,
      untilDone: async () => {
        while ((await round()).isBehind === true);
      },
      async addRecord(name: string, deliveries = whole): Promise<string> {
        const patientId = await environment.addPatient({
          ...person,
          externalId: name,
        });
        await deliver(patientId, deliveries);
        return patientId;
      },
      async packsOf(patientId: string): Promise<number> {
        const { rows } = await owner.query<{ packs: number }>(
          'select count(*)::int as packs from resource_pack where patient_id = $1',
          [patientId],
        );
        return rows[0]?.packs ?? 0;
      },
      async originsInRows(patientId: string): Promise<number> {
        const { rows } = await owner.query<{ origins: number }>(
          'select count(*)::int as origins from record_origin where patient_id = $1',
          [patientId],
        );
        return rows[0]?.origins ?? 0;
      },
      allAreDue: () => owner.query('update record_to_pack set due_at = now()'),
    };
  },
);

const observation = (id: string, text: string) =>
  delivery('lab', {
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text },
    subject: { reference: `Patient/${[...(ids.get('lab') ?? [])][0]}` },
    valueString: `${text} is as it should be`,
  });

describe('the commands of packs', () => {
  test('are refused without who and why, and change nothing', async ({
    operator,
  }) => {
    for (const argv of [
      ['on'],
      ['on', '--by', 'Ada Ops'],
      ['off', '--by', ' ', '--reason', 'CHG-720'],
      ['undo', '--by', 'Ada Ops', '--reason', 'x'.repeat(501)],
      ['on', 'now', ...SAID],
      ['away', ...SAID],
    ])
      expect
        .soft(await operator.types('packs', ...argv), argv.join(' '))
        .toMatchObject({ exitCode: 2, err: expect.stringMatching(/\S/) });
    // A new database packs from the start.
    expect((await operator.types('packs', 'status')).out).toMatch(
      /^Records at rest are packed\..*\nAll records have been taken up; 0 wait.*\nNothing is in packs\.\n$/,
    );
  });

  test('pack, stop in the middle, go on, and take everything out again; the screen says how far it is', async ({
    operator,
  }) => {
    const patients: string[] = [];
    for (const name of ['first', 'second', 'third'])
      patients.push(await operator.addRecord(name));
    const texts = await Promise.all(patients.map(operator.text));
    const status = async () => (await operator.types('packs', 'status')).out;
    const packed = async () =>
      (await Promise.all(patients.map(operator.packsOf))).filter(
        (packs) => packs > 0,
      ).length;

    await operator.types('packs', 'off', ...SAID);
    await operator.round();
    expect(await status()).toContain('Records are left as they are');
    expect(await packed()).toBe(0);

    expect(await operator.types('packs', 'on', ...SAID)).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('Records at rest are packed'),
    });
    expect(await status()).toContain('0 of 3 records have been taken up');
    await operator.owner.query('delete from record_to_pack');
    await operator.round(undefined, 1);
    expect(await status()).toContain('1 of 3 records have been taken up');

    await operator.types('packs', 'off', ...SAID);
    await operator.untilDone();
    expect(await packed()).toBe(1);
    expect(await status()).toContain('There is something in packs.');

    await operator.types('packs', 'on', ...SAID);
    await operator.untilDone();
    expect(await packed()).toBe(3);
    expect(await status()).toContain('All records have been taken up; 0 wait');
    expect(await Promise.all(patients.map(operator.text))).toEqual(texts);

    await operator.types('packs', 'undo', ...SAID);
    await operator.round(undefined, 1);
    expect(await status()).toContain('There is something in packs.');
    await operator.untilDone();
    expect(await status()).toContain('Nothing is in packs.');
    expect(await Promise.all(patients.map(operator.text))).toEqual(texts);
  });

  test('of two operators at the same time, the last counts, and both are in the audit', async ({
    operator,
  }) => {
    const patientId = await operator.addRecord('of two');
    const entries = async () =>
      (
        await operator.owner.query(
          `select from audit_entry where operation = 'setPacking'`,
        )
      ).rowCount ?? 0;
    const before = await entries();
    await operator.types('packs', 'on', ...SAID);
    await operator.allAreDue();
    // The round began under the first command.
    const [taken] = await Promise.all([
      operator.round(),
      operator.types('packs', 'off', ...SAID),
      operator.types('packs', 'undo', ...SAID),
    ]);
    expect(taken.failures).toEqual([]);
    expect((await entries()) - before).toBe(3);

    await operator.types('packs', 'undo', ...SAID);
    await operator.untilDone();
    expect(await operator.packsOf(patientId)).toBe(0);
  });

  test('obey: a packing that began before "undo" puts nothing into packs after it', async ({
    operator,
  }) => {
    const patientId = await operator.addRecord('began before');
    await operator.types('packs', 'on', ...SAID);
    await operator.allAreDue();
    const merging = new pg.Client({ connectionString: operator.databaseUrl });
    await merging.connect();
    try {
      // Each is held back once it has read the mode.
      await merging.query('begin; lock table record_to_pack');
      const round = operator.round();
      await expect
        .poll(
          async () =>
            (
              await operator.owner.query(
                `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'record_to_pack'`,
              )
            ).rowCount,
          { timeout: 240_000 },
        )
        .toBeGreaterThan(0);
      await operator.types('packs', 'undo', ...SAID);
      await merging.query('commit');
      await round;
    } finally {
      await merging.end();
    }
    expect(await operator.packsOf(patientId)).toBe(0);
  });

  test('"on" begins with the first record also while a round is under way: what was merged in between is packed', async ({
    operator,
  }) => {
    const passed = await operator.addRecord('passed by the round');
    const reached = await operator.addRecord('reached by the round');
    await operator.types('packs', 'on', ...SAID);
    await operator.owner.query('delete from record_to_pack');
    await operator.owner.query(
      `insert into record_to_pack (account_id, patient_id, due_at) values ($1, $2, now() + interval '1 hour')`,
      [operator.accountId, reached],
    );
    const holder = new pg.Client({ connectionString: operator.databaseUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query(
        'select from record_to_pack where patient_id = $1 for update',
        [reached],
      );
      const round = operator.round();
      await expect
        .poll(() => operator.originsInRows(passed), { timeout: 240_000 })
        .toBe(0);
      await operator.types('packs', 'off', ...SAID);
      await operator.deliver(passed, [observation('in between', 'selenium')]);
      await operator.types('packs', 'on', ...SAID);
      await holder.query('commit');
      await round;
    } finally {
      await holder.end();
    }
    expect(await operator.originsInRows(passed)).toBeGreaterThan(0);

    await operator.untilDone();
    expect(await operator.originsInRows(passed)).toBe(0);
  });

  test('"undo" leaves nothing in packs while deliveries arrive and are merged, and loses none', async ({
    operator,
  }) => {
    const patientId = await operator.addRecord('undone');
    const contents = async () =>
      new Map(
        (
          await operator.owner.query<{ id: string; text: string }>(
            'select source_id as id, content::text as text from delivered_resource where patient_id = $1',
            [patientId],
          )
        ).rows.map(({ id, text }) => [id, text]),
      );
    const before = await contents();
    await operator.types('packs', 'on', ...SAID);
    await operator.untilDone();
    await operator.allAreDue();
    await operator.round();
    expect(await operator.packsOf(patientId)).toBeGreaterThan(0);

    const news = Array.from({ length: 6 }, (_, index) => [
      observation(`new-${index}`, `iron ${index}`),
      observation('changing', `copper ${index}`),
    ]);
    await operator.types('packs', 'undo', ...SAID);
    let isArriving = true;
    await Promise.all([
      (async () => {
        for (const each of news) await operator.deliver(patientId, each);
        isArriving = false;
      })(),
      (async () => {
        while (isArriving) await operator.round();
      })(),
    ]);
    await operator.allAreDue();
    await operator.untilDone();

    expect((await operator.types('packs', 'status')).out).toContain(
      'Nothing is in packs.',
    );
    const after = await contents();
    expect(after.size).toBe(before.size + news.length + 1);
    for (const [id, text] of before) expect(after.get(id)).toBe(text);
    const text = await operator.text(patientId);
    for (const index of news.keys())
      expect(text).toContain(`iron ${index} is as it should be`);
    expect(text).toContain('copper 5 is as it should be');
    expect(text).not.toContain('copper 4');
  });

  test('say that something is in packs also of a record whose contents are too large for them', async ({
    operator,
  }) => {
    await operator.types('packs', 'undo', ...SAID);
    await operator.untilDone();
    await operator.owner.query(`update packing set mode = 'pack'`);
    const patientId = await operator.addRecord('large', [
      observation('large', 'manganese '.repeat(10_000)),
    ]);
    await operator.allAreDue();
    await operator.round();
    expect(await operator.originsInRows(patientId)).toBe(0);
    expect(await operator.packsOf(patientId)).toBe(0);
    expect((await operator.types('packs', 'status')).out).toMatch(
      /^There is something in packs\.$/m,
    );
  });
});

describe('a record that cannot be packed', () => {
  test('is as it was, holds up no other, and is named to operators until it can', async ({
    operator,
  }) => {
    await operator.types('packs', 'on', ...SAID);
    await operator.untilDone();
    const broken = await operator.addRecord('broken');
    const sound = await operator.addRecord('sound');
    const text = await operator.text(broken);
    await operator.owner.query(`
      create function spoil() returns trigger language plpgsql as $$ begin
        new.contents := jsonb_set(new.contents, '{0,id}', '"another"'); return new; end $$;
      create trigger spoil before insert on resource_pack for each row
        when (new.patient_id = '${broken}') execute function spoil()`);
    const findings = async () =>
      findingsOf({ report: await readOperationsReport(operator.store) }).filter(
        ({ what }) => what.includes('cannot be moved'),
      );
    const wait = async () =>
      (
        await operator.owner.query(
          `select failures, ceil(extract(epoch from due_at - now()) / 3600)::int as hours from record_to_pack where patient_id = $1`,
          [broken],
        )
      ).rows;

    await operator.allAreDue();
    expect((await operator.round()).failures).toHaveLength(1);
    expect(await operator.packsOf(sound)).toBeGreaterThan(0);
    expect(await wait()).toEqual([{ failures: 1, hours: 1 }]);
    expect((await operator.types('packs', 'status')).exitCode).toBe(0);
    expect(await findings()).toEqual([]);

    await operator.allAreDue();
    await operator.round();
    expect(await wait()).toEqual([{ failures: 2, hours: 2 }]);
    expect(await operator.types('packs', 'status')).toMatchObject({
      exitCode: 3,
      out: expect.stringContaining(
        `the contents of 1 record cannot be moved, such as those of patient ${broken} (tried 2 times)`,
      ),
    });
    expect(await findings()).toMatchObject([
      { kind: 'stuck', accountId: operator.accountId, count: 1 },
    ]);
    await operator.allAreDue();
    expect((await readOperationsReport(operator.store)).work).toContainEqual({
      kind: 'record-packing',
      open: 1,
      notStarted: 0,
      oldestSeconds: expect.any(Number),
    });
    expect(await operator.text(broken)).toBe(text);

    await operator.owner.query('drop function spoil cascade');
    await operator.round();
    expect(await operator.packsOf(broken)).toBeGreaterThan(0);
    expect(await operator.text(broken)).toBe(text);
    expect(await findings()).toEqual([]);
    expect((await operator.types('packs', 'status')).exitCode).toBe(0);
  });

  test('for one content that is too large for a pack is packed without it', async ({
    operator,
  }) => {
    await operator.types('packs', 'on', ...SAID);
    const noise = Array.from({ length: 40_000 }, (_, index) =>
      ((index * 2_654_435_761) % 4_294_967_296).toString(36),
    ).join('');
    const patientId = await operator.addRecord('large', [
      observation('iron', 'iron'),
      observation('noise', noise),
      observation('spaces', 'large'.padEnd(33_000)),
    ]);
    const text = await operator.text(patientId);
    await operator.allAreDue();
    await operator.round();

    const { rows } = await operator.owner.query(
      'select source_id from patient_resource where patient_id = $1 and pack is null order by 1',
      [patientId],
    );
    expect(rows.map((row) => row.source_id)).toEqual(['noise', 'spaces']);
    expect(await operator.packsOf(patientId)).toBe(1);
    expect(await operator.text(patientId)).toBe(text);
  });
});
