import fc from 'fast-check';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { retire } from '../../src/exchange/records/merge/retirement-store.ts';
import { packingRecovery } from '../../src/exchange/records/packing/packing.ts';
import {
  moveContents,
  moveOrigins,
  type PackingMode,
  readPacking,
  setPacking,
} from '../../src/exchange/records/packing/packing-store.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  smallSamples,
} from '../support/deliveries.ts';
import { recordTest } from '../support/fixtures.ts';
import type { Delivered } from '../support/merge-deliveries.ts';
import { propertyOf } from '../support/property.ts';

const [sample] = smallSamples;
if (sample === undefined) throw new Error('the sample is gone');
const person = personOf(sample);
const ids = patientIdsOf(sample);
const whole = deliveriesOf(sample);
const SOURCES = ['hie', 'lab', 'pharmacy'] as const;

const test = recordTest.extend(
  'record',
  { scope: 'file' },
  ({ environment }, { onCleanup }) => {
    const { store, accountId } = environment;
    const owner = new pg.Pool({ connectionString: environment.databaseUrl });
    onCleanup(() => owner.end());
    const move = async (
      patientId: string,
      mode: Exclude<PackingMode, 'off'>,
    ) => {
      await owner.query('update packing set mode = $1', [mode]);
      return store.asAccount(accountId, async (tx) => {
        const moved = await moveContents(tx, mode, patientId, 10_000);
        if (moved !== null) await moveOrigins(tx, mode, patientId);
        return moved;
      });
    };
    return {
      ...environment,
      owner,
      /** How many contents were moved. */
      pack: (patientId: string) => move(patientId, 'pack'),
      unpack: (patientId: string) => move(patientId, 'unpack'),
      recovery: packingRecovery(store),
      async deliverAll(patientId: string, deliveries: readonly Delivered[]) {
        for (const source of SOURCES) {
          const own = deliveries.filter((each) => each.source === source);
          if (own.length > 0)
            await environment.deliver(
              patientId,
              source,
              own,
              ids.get(source) ?? [],
            );
        }
      },
      /** What the merge knows of a patient's deliveries: all of it as text, and where it is. */
      async origins(patientId: string) {
        const { rows } = await owner.query<{
          inRows: number;
          inPacks: number;
          keys: number;
          text: string;
        }>(
          `select (select count(*)::int from record_origin where patient_id = $1) as "inRows",
             (select count(*)::int from packed_place where patient_id = $1) as "inPacks",
             (select count(*)::int from record_key where patient_id = $1) as keys,
             (select string_agg((to_jsonb(o) - 'sha256')::text, e'\n' order by resource_type, source, source_id) from merged_origin as o
              where patient_id = $1) as text`,
          [patientId],
        );
        if (rows[0] === undefined) throw new Error('no row');
        return rows[0];
      },
      merge: (patientId: string) =>
        environment.records.merge(accountId, patientId),
      /** Where the contents of a patient's rows are, and what its packs hold. */
      async where(patientId: string) {
        const { rows } = await owner.query<{
          inRows: number;
          inPacks: number;
          packs: number;
          held: number;
          text: string;
        }>(
          `select (select count(*)::int from patient_resource where patient_id = $1 and pack is null) as "inRows",
             (select count(*)::int from patient_resource where patient_id = $1 and pack is not null) as "inPacks",
             (select count(*)::int from resource_pack where patient_id = $1) as packs,
             (select count(*)::int from resource_pack, jsonb_array_elements(contents) as each
              where patient_id = $1 and each <> 'null') as held,
             (select coalesce(string_agg(contents::text, '' order by pack), '') from resource_pack where patient_id = $1) as text`,
          [patientId],
        );
        if (rows[0] === undefined) throw new Error('no row');
        return rows[0];
      },
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

describe('a record', () => {
  test('is the same in packs, byte for byte, and out of them again', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    const before = await record.text(patientId);
    const origins = await record.origins(patientId);

    const moved = await record.pack(patientId);
    const packed = await record.where(patientId);
    expect(packed).toMatchObject({ inPacks: moved, held: moved });
    expect(await record.origins(patientId)).toEqual({
      inRows: 0,
      inPacks: origins.inRows,
      keys: 0,
      text: origins.text,
    });
    expect(packed.inPacks).toBeGreaterThan(0.9 * whole.length);
    expect(packed.packs).toBeLessThan(whole.length / 4);
    expect(await record.text(patientId)).toBe(before);
    expect(await record.pack(patientId)).toBe(0);

    await record.unpack(patientId);
    expect(await record.where(patientId)).toMatchObject({
      inPacks: 0,
      packs: 0,
    });
    expect(await record.origins(patientId)).toEqual(origins);
    expect(await record.text(patientId)).toBe(before);
  });

  test('merges again from packs, as other rules would', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    const before = await record.text(patientId);
    await record.pack(patientId);

    await record.owner.query(
      `update origin_pack set places = array(
         select row(source, resource_type, source_id, sha256, 0, resource_id, exclusion, rank, leads, superseded,
           medication_id, sort_date, date_from, date_to)::origin_place from unnest(places))
       where patient_id = $1`,
      [patientId],
    );
    expect((await record.merge(patientId)).changed).toBeGreaterThan(400);
    expect((await record.origins(patientId)).inPacks).toBe(0);
    expect(await record.text(patientId)).toBe(before);
  });

  test('gives up nothing when a content reads otherwise from its pack', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    const before = await record.text(patientId);
    await record.owner.query(`
      create function spoil() returns trigger language plpgsql as $$ begin
        new.contents := jsonb_set(new.contents, '{0,id}', '"another"'); return new; end $$;
      create trigger spoil before insert on resource_pack for each row execute function spoil()`);
    try {
      await expect(record.pack(patientId)).rejects.toThrow(/reads otherwise/);
    } finally {
      await record.owner.query('drop function spoil cascade');
    }
    expect(await record.where(patientId)).toMatchObject({
      inPacks: 0,
      packs: 0,
    });
    expect(await record.text(patientId)).toBe(before);
  });

  test('gives up no origin that reads otherwise from its pack, and none whose key is missing', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    const before = await record.origins(patientId);
    await record.owner.query(`
      create function spoil() returns trigger language plpgsql as $$ begin
        new.facts[1].search := '{another}'; return new; end $$;
      create trigger spoil before insert on origin_pack for each row execute function spoil()`);
    try {
      await expect(record.pack(patientId)).rejects.toThrow(/reads otherwise/);
    } finally {
      await record.owner.query('drop function spoil cascade');
    }
    expect(await record.origins(patientId)).toEqual(before);

    await record.owner.query(
      'delete from record_key where ctid = (select min(ctid) from record_key where patient_id = $1)',
      [patientId],
    );
    await expect(record.pack(patientId)).rejects.toThrow(/keys of a record/);
    expect((await record.origins(patientId)).inRows).toBe(before.inRows);
    await record.owner.query('delete from patient where id = $1', [patientId]);
  });

  test('keeps its origins in rows while something is yet to be merged, and if it is very large', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, [observation('a', 'iron')]);
    await record.merge(patientId);
    await record.deliverAll(patientId, [observation('b', 'copper')]);
    await record.pack(patientId);
    expect(await record.origins(patientId)).toMatchObject({
      inRows: 1,
      inPacks: 0,
    });

    await record.merge(patientId);
    await record.pack(patientId);
    expect(await record.origins(patientId)).toMatchObject({
      inRows: 0,
      inPacks: 2,
    });

    await record.unpack(patientId);
    await record.owner.query(
      `insert into record_origin (account_id, patient_id, source, resource_type, source_id, sha256, rules, keys, rank, leads, sort_date)
       select account_id, patient_id, source, resource_type, n::text, sha256, rules, '{}', n::text, false, ''
       from record_origin, generate_series(1, 5000) as n where patient_id = $1 and source_id = 'a'`,
      [patientId],
    );
    await record.owner.query(
      `insert into patient_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content)
       select account_id, patient_id, source, resource_type, n::text, document_id, sha256, '{}'
       from patient_resource, generate_series(1, 5000) as n where patient_id = $1 and source_id = 'a'`,
      [patientId],
    );
    await record.owner.query('select pack_origins($1)', [patientId]);
    expect(await record.origins(patientId)).toMatchObject({
      inRows: 5002,
      inPacks: 0,
    });
    await record.owner.query('delete from patient where id = $1', [patientId]);
  });

  test('is not read when a pack is missing', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    await record.pack(patientId);
    await record.owner.query(
      'delete from resource_pack where patient_id = $1 and pack = 1',
      [patientId],
    );
    await expect(record.read(patientId)).rejects.toThrow(
      'not where its row says',
    );
    // What is left is taken out, and what is lost is said to be.
    await record.unpack(patientId);
    await expect(record.unpack(patientId)).rejects.toThrow(/pack .* not there/);
    expect((await record.where(patientId)).packs).toBe(0);
  });
});

describe('what leaves a record leaves its packs', () => {
  test('a changed content, which is packed again with what is left of others', async ({
    record,
  }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, [
      observation('a', 'iron'),
      observation('b', 'copper'),
    ]);
    await record.merge(patientId);
    await record.pack(patientId);
    expect((await record.where(patientId)).text).toContain('iron');

    await record.deliverAll(patientId, [observation('a', 'zinc')]);
    await record.merge(patientId);
    const changed = await record.where(patientId);
    expect(changed).toMatchObject({ inRows: 1, inPacks: 1, held: 1 });
    expect(changed.text).not.toContain('iron');
    const text = await record.text(patientId);
    expect(text).toContain('zinc is as');
    expect(text).toContain('copper is as');

    expect(await record.pack(patientId)).toBe(2);
    expect(await record.where(patientId)).toMatchObject({
      inPacks: 2,
      packs: 1,
      held: 2,
    });
  });

  test('what its source retired, once that is removed', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, [
      observation('a', 'iron'),
      observation('b', 'copper'),
    ]);
    await record.merge(patientId);
    await record.pack(patientId);
    await record.owner.query(
      `with gone as (delete from patient_resource where patient_id = $1 and source_id = 'a' returning *)
       insert into retired_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content,
         pack, place, revision, collected_at, reason, query_id)
       select account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, pack, place, revision,
         collected_at, 'deleted', document_id from gone`,
      [patientId],
    );
    expect(await record.where(patientId)).toMatchObject({
      inPacks: 1,
      held: 2,
    });
    expect(await record.pack(patientId)).toBe(0);

    await record.owner.query(
      'delete from retired_resource where patient_id = $1',
      [patientId],
    );
    const left = await record.where(patientId);
    expect(left).toMatchObject({ inPacks: 1, held: 1 });
    expect(left.text).not.toContain('iron');

    await record.owner.query(
      'delete from patient_resource where patient_id = $1',
      [patientId],
    );
    expect(await record.where(patientId)).toMatchObject({ packs: 0 });
  });

  test('a deleted patient', async ({ record }) => {
    const patientId = await record.addPatient(person);
    await record.deliverAll(patientId, whole);
    await record.merge(patientId);
    await record.pack(patientId);
    await record.store.asAccount(record.accountId, (tx) =>
      tx.db.deleteFrom('patient').where('id', '=', patientId).execute(),
    );
    expect(await record.where(patientId)).toMatchObject({
      inPacks: 0,
      packs: 0,
    });
  });
});

describe('while a record is packed', () => {
  test.for([
    ['packing', 'pack'],
    ['unpacking', 'unpack'],
  ] as const)(
    'a kill in the middle of %s loses nothing',
    async ([, mode], { record }) => {
      const patientId = await record.addPatient(person);
      await record.deliverAll(patientId, whole);
      await record.merge(patientId);
      const before = await record.text(patientId);
      if (mode === 'unpack') await record.pack(patientId);
      const start = await record.where(patientId);
      const origins = await record.origins(patientId);

      const killed = new pg.Client({ connectionString: record.databaseUrl });
      killed.on('error', () => undefined);
      await killed.connect();
      await record.owner.query('update packing set mode = $1', [mode]);
      await killed.query('begin');
      await killed.query(
        `select ${mode}_record($1, 10000), ${mode}_origins($1)`,
        [patientId],
      );
      const { rows } = await killed.query('select pg_backend_pid() as pid');
      const ended = new Promise((resolve) => killed.once('end', resolve));
      await record.owner.query('select pg_terminate_backend($1)', [
        rows[0].pid,
      ]);
      await ended;

      await expect.poll(() => record.where(patientId)).toEqual(start);
      expect(await record.origins(patientId)).toEqual(origins);
      expect(await record.text(patientId)).toBe(before);
      await record[mode](patientId);
      expect(await record.text(patientId)).toBe(before);
    },
  );

  const changes = propertyOf(
    [
      fc.array(
        fc.record({
          id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
          change: fc.constantFrom(
            'deliver',
            'retire',
            'forget',
            'merge',
            'pack',
            'unpack',
          ),
          text: fc.constantFrom('iron', 'copper', 'zinc'),
        }),
        { minLength: 4, maxLength: 40 },
      ),
    ],
    { numRuns: 40 },
  );
  test(
    changes.named(
      'what arrives and leaves at the same time is in the record, and in packs only what rows refer to',
    ),
    ({ record }) =>
      changes.holds(async (steps) => {
        const patientId = await record.addPatient(person);
        const own = `patient_id = '${patientId}'`;
        const inTurn = async (mine: typeof steps) => {
          for (const { id, change, text } of mine)
            if (change === 'deliver')
              await record.deliverAll(patientId, [
                observation(id, `${text} of ${id}`),
              ]);
            else if (change === 'retire')
              await record.store.asAccount(record.accountId, async (tx) => {
                await retire(
                  tx,
                  { ...STEP, accountId: record.accountId, source: 'lab' },
                  patientId,
                  [
                    {
                      resourceType: 'Observation',
                      id,
                      reason: 'deleted',
                      revision: '',
                    },
                  ],
                );
              });
            else if (change === 'forget')
              await record.owner.query(
                `delete from retired_resource where ${own} and source_id = '${id}'`,
              );
            else await record[change](patientId);
        };
        // Of each resource, changes are in order; packing is at any time.
        const lanes = Map.groupBy(steps, ({ id, change }) =>
          ['merge', 'pack', 'unpack'].includes(change) ? change : id,
        );
        await Promise.all([...lanes.values()].map(inTurn));

        const expected = [...lanes]
          .filter(([id]) => id.length === 1)
          .flatMap(([id, mine]) => {
            const last = mine.findLast(
              ({ change }) => change === 'deliver' || change === 'retire',
            );
            return last?.change === 'deliver' ? [`${last.text} of ${id}`] : [];
          });
        const { rows } = await record.owner.query<{ text: string }>(
          `select content->'code'->>'text' as text from delivered_resource where ${own} order by source_id`,
        );
        expect(rows.map(({ text }) => text)).toEqual(expected.sort(byId));
        const { rows: places } = await record.owner.query(
          `select (select count(*)::int from resource_pack, jsonb_array_elements(contents) as each where ${own} and each <> 'null') as held,
             (select count(*)::int from patient_resource where ${own} and pack is not null)
               + (select count(*)::int from retired_resource where ${own} and pack is not null) as referred`,
        );
        expect(places[0].held).toBe(places[0].referred);

        await record.merge(patientId);
        const text = await record.text(patientId);
        await record.unpack(patientId);
        expect((await record.origins(patientId)).inRows).toBe(rows.length);
        await record.pack(patientId);
        expect((await record.origins(patientId)).inPacks).toBe(rows.length);
        expect(await record.text(patientId)).toBe(text);
      }),
  );
});

const STEP = {
  requestId: '0198a000-0000-7000-8000-00000000000a',
  run: 1,
  attempt: 1,
  part: { id: null, namespace: '' },
};
const byId = (left: string, right: string) =>
  left.slice(-1).localeCompare(right.slice(-1));

describe('an operator', () => {
  test('has all records packed, and unpacked, slice by slice, and what is merged later when it is at rest', async ({
    record,
  }) => {
    const patients: string[] = [];
    for (let index = 0; index < 3; index++) {
      const patientId = await record.addPatient({
        ...person,
        externalId: `at-rest-${index}`,
      });
      await record.deliverAll(patientId, whole);
      await record.merge(patientId);
      patients.push(patientId);
    }
    const round = (signal = new AbortController().signal) =>
      record.recovery.takeUp({ limit: 2, signal, recheckBefore: new Date() });
    const state = () => record.store.asSystem(readPacking);
    const set = (mode: PackingMode) =>
      record.store.asSystem((tx) => setPacking(tx, mode));
    const inPacks = async () =>
      Promise.all(
        patients.map(async (each) => (await record.where(each)).packs > 0),
      );
    const untilDone = async () => {
      for (;;) {
        const { failures, isBehind } = await round();
        expect(failures).toEqual([]);
        if (isBehind !== true) return;
      }
    };

    await set('off');
    expect(await round()).toMatchObject({ found: 0 });
    await set('pack');
    expect(await round(AbortSignal.abort())).toMatchObject({ healed: 0 });
    await untilDone();
    expect(await inPacks()).toEqual([true, true, true]);
    expect(await state()).toMatchObject({ mode: 'pack', upTo: null });

    const [first = ''] = patients;
    await record.deliverAll(first, [observation('later', 'zinc')]);
    await record.merge(first);
    await round();
    expect((await record.where(first)).text).not.toContain('zinc');
    // Each merge begins the rest anew.
    await record.owner.query('update record_to_pack set due_at = now()');
    await record.deliverAll(first, [observation('later still', 'tin')]);
    await record.merge(first);
    await round();
    expect((await record.where(first)).text).not.toContain('zinc');
    await record.owner.query('update record_to_pack set due_at = now()');
    await round();
    expect((await record.where(first)).text).toContain('zinc');
    const { rows } = await record.owner.query('select from record_to_pack');
    expect(rows).toEqual([]);

    await set('unpack');
    await untilDone();
    expect(await inPacks()).toEqual([false, false, false]);
    await set('off');
    expect(await round()).toMatchObject({ found: 0 });
  });
});
