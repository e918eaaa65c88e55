import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { READY_VIEWS } from '../../src/exchange/delivery/bulk-export/views/ready-views.ts';
import { createTableMaker } from '../../src/exchange/delivery/bulk-export/views/table-maker.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { delivery, personOf, smallSamples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  diagnosticsIn,
  type FhirDoor,
  inMode,
} from '../support/fhir-door.ts';
import {
  type CompletedRun,
  type Row,
  readByDuckDb,
  viewRunsOf,
} from '../support/view-runs.ts';
import { withholdLabels } from '../support/withhold.ts';

let door: FhirDoor;
let runs: ReturnType<typeof viewRunsOf>;
let patientIds: string[];
beforeAll(async () => {
  door = await createFhirDoor();
  runs = viewRunsOf(door);
  patientIds = [];
  for (const sample of smallSamples)
    patientIds.push(await door.addSample(sample));
});
afterAll(() => door.close());

const ALL = [...READY_VIEWS.keys()];
const tableOf = (id: string) => id.replaceAll('-', '_');
const textOf = (cell: unknown) =>
  cell === null || cell === undefined
    ? ''
    : typeof cell === 'object'
      ? JSON.stringify(cell)
      : String(cell);
/** The rows as texts, to compare formats. */
const texts = (rows: readonly Row[]) =>
  rows
    .map((row) =>
      Object.entries(row).map(([name, cell]) => `${name}: ${textOf(cell)}`),
    )
    .map((cells) => cells.join(' | '))
    .sort();
const view = (
  resource: string,
  ...columns: { name: string; path: string; [more: string]: unknown }[]
) => ({
  resourceType: 'ViewDefinition',
  name: 'own',
  status: 'active',
  resource,
  select: [{ column: columns }],
});
const key = { name: 'id', path: 'getResourceKey()' };
const rowsOf = async ({ files }: CompletedRun, name: string) =>
  files.some((file) => file.name === name)
    ? readByDuckDb(files, name, 'ndjson')
    : [];

describe('a run', () => {
  test('of all ready-made views gives the same rows in Parquet, CSV and NDJSON, which DuckDB reads', async () => {
    const rows: Record<string, string[][]> = Object.fromEntries(
      ALL.map((id) => [id, []]),
    );
    for (const format of ['parquet', 'ndjson', 'csv']) {
      const { files, manifest } = await runs.run(ALL, { _format: format });
      for (const { content, sha256 } of files)
        expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
      for (const id of ALL) {
        const table = await readByDuckDb(files, tableOf(id), format);
        const own = files.filter(({ name }) => name === tableOf(id));
        expect(
          own.reduce((sum, file) => sum + file.rows, 0),
          id,
        ).toBe(table.length);
        const columns = manifest.views.find(
          ({ name }) => name === tableOf(id),
        )?.columns;
        if (table[0] !== undefined)
          expect(Object.keys(table[0])).toEqual(
            columns?.map(({ name }) => name),
          );
        rows[id]?.push(texts(table));
      }
    }
    for (const [id, [parquet, ndjson, csv]] of Object.entries(rows)) {
      if (!/^(?:drugs|query-outcomes|medication-statements)$/.test(id))
        expect(parquet?.length, id).toBeGreaterThan(1);
      expect(ndjson?.length, id).toBe(parquet?.length);
      expect(csv, id).toEqual(parquet);
    }
  });

  test('says what is in the records: a row for each resource, with the key that others refer to', async () => {
    const run = await runs.run(['patients', 'conditions'], {
      _format: 'parquet',
    });
    const people = await readByDuckDb(
      run.files,
      'patients',
      'parquet',
      'select id, family_name from t order by id',
    );
    expect(people.map(({ id }) => id)).toEqual([...patientIds].sort());
    expect(people.map(({ family_name }) => family_name)).toContain(
      smallSamples[0]?.createBody.lastName,
    );
    const conditions = await readByDuckDb(run.files, 'conditions', 'parquet');
    const served = [];
    for (const id of patientIds)
      for (const page of await door.pages(`Condition?patient=${id}`))
        served.push(...inMode(page, 'match').map(({ id: own }) => own));
    expect(conditions.map(({ id }) => id).sort()).toEqual(served.sort());
    for (const { patient_id } of conditions)
      expect(patientIds).toContain(patient_id);
  });

  test('killed at any point gives the same rows, and leaves no double', async () => {
    const whole = await runs.run(['results'], { _format: 'ndjson' });
    const exportId = await runs.started(['results'], { _format: 'ndjson' });
    const of = { accountId: door.accountId, exportId };
    let puts = 0;
    let deaths = 0;
    const dying: BlobStore = {
      ...door.blobs,
      async put(...args) {
        const ref = await door.blobs.put(...args);
        puts += 1;
        if (puts % 2 === 0 && deaths < 3) throw new Error('killed');
        return ref;
      },
    };
    await runs.runnerOf().listPatients(of);
    for (let state = 'running'; state === 'running'; )
      await runs
        .runnerOf(dying)
        .writeSlices(of)
        .then((progress) => {
          state = progress.state;
        })
        .catch(() => {
          deaths += 1;
        });
    expect(deaths).toBe(3);
    const again = await runs.completed(exportId);
    const all = (run: CompletedRun) =>
      run.files
        .filter(({ kind }) => kind === 'output')
        .map(({ content }) => String(content))
        .join('');
    expect(all(again)).toBe(all(whole));
  });

  test('shows nothing that a policy on sensitive data withholds; a run from before is withdrawn, and the next is whole', async () => {
    const patientId = await door.addPatient(personOf(aSample()));
    const secret = {
      resourceType: 'Condition',
      id: 'secret',
      subject: { reference: 'Patient/p' },
      code: { text: 'zebra' },
      meta: {
        security: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
            code: 'R',
          },
        ],
      },
    };
    await door.deliver(patientId, 'hie', [delivery('hie', secret)], ['p']);
    await door.records.merge(door.accountId, patientId);
    const run = () =>
      runs.run(['conditions'], { _format: 'ndjson', incremental: true });
    const codes = async (of: CompletedRun) =>
      (await rowsOf(of, 'conditions')).map(
        ({ condition_text }) => condition_text,
      );
    const before = await run();
    expect(await codes(before)).toContain('zebra');
    await withholdLabels(door.store, door.accountId, ['R']);
    expect((await door.get(`bulk-export/${before.exportId}`)).statusCode).toBe(
      410,
    );
    const after = await run();
    expect(after.manifest.since).toBeUndefined();
    expect(await codes(after)).not.toContain('zebra');
    const served = [];
    for (const id of [...patientIds, patientId])
      for (const page of await door.pages(`Condition?patient=${id}`))
        served.push(...inMode(page, 'match').map(({ id: own }) => own));
    expect(
      (await rowsOf(after, 'conditions')).map(({ id }) => id).sort(),
    ).toEqual(served.sort());
    await withholdLabels(door.store, door.accountId, []);
    await door.store.asAccount(door.accountId, (tx) =>
      tx.db.deleteFrom('patient').where('id', '=', patientId).execute(),
    );
  });

  test('has nothing of a patient who opted out: the next incremental run says that she has left, and all of her comes again when she is back', async () => {
    const patientId = await door.addPatient(personOf(aSample()));
    const condition = {
      resourceType: 'Condition',
      id: 'own',
      subject: { reference: 'Patient/p' },
    };
    await door.deliver(
      patientId,
      'hie',
      [delivery('hie', { ...condition, code: { text: 'okapi' } })],
      ['p'],
    );
    await door.records.merge(door.accountId, patientId);
    const optOut = (isOut: boolean) =>
      door.store.asAccount(door.accountId, (tx) =>
        tx.db
          .updateTable('patient')
          .set({ hie_opt_out: isOut })
          .where('id', '=', patientId)
          .execute(),
      );
    const run = () =>
      runs.run(['patients', 'conditions', 'completeness', 'query-outcomes'], {
        _format: 'ndjson',
        incremental: true,
      });
    const textsOf = async (of: CompletedRun) =>
      (await rowsOf(of, 'conditions')).map(
        ({ condition_text }) => condition_text,
      );
    expect(await textsOf(await run())).toContain('okapi');
    await settle();
    await optOut(true);
    const without = await run();
    expect(await rowsOf(without, 'deleted')).toContainEqual({
      resource_type: 'Patient',
      resource_key: patientId,
      change: 'gone',
    });
    for (const { kind, content } of without.files)
      if (kind !== 'deleted') expect(String(content)).not.toContain(patientId);
    const whole = await runs.run(ALL, { _format: 'ndjson' });
    for (const { content } of whole.files)
      expect(String(content)).not.toContain(patientId);
    await optOut(false);
    expect(await textsOf(await run())).toEqual(['okapi']);
    await door.store.asAccount(door.accountId, (tx) =>
      tx.db.deleteFrom('patient').where('id', '=', patientId).execute(),
    );
  });

  test('takes nothing from a worker whose time is over: another one has written the slice, and the late files are deleted', async () => {
    const whole = await runs.run(['results'], { _format: 'ndjson' });
    const exportId = await runs.started(['results'], { _format: 'ndjson' });
    const of = { accountId: door.accountId, exportId };
    await runs.runnerOf().listPatients(of);
    const late: string[] = [];
    let resume = () => {};
    const overtaken = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let isThere = () => {};
    const reached = new Promise<void>((resolve) => {
      isThere = resolve;
    });
    const paused: BlobStore = {
      ...door.blobs,
      async put(...args) {
        const stored = await door.blobs.put(...args);
        late.push(stored.ref);
        isThere();
        await overtaken;
        return stored;
      },
    };
    const lateWorker = runs.runnerOf(paused).writeSlices(of);
    await reached;
    expect(await runs.runnerOf().writeSlices(of)).toMatchObject({
      state: 'completed',
    });
    resume();
    expect(await lateWorker).toMatchObject({ state: 'completed' });
    const contents = ({ files }: CompletedRun) =>
      files.map(({ content }) => String(content));
    expect(contents(await runs.completed(exportId))).toEqual(contents(whole));
    expect(late.length).toBeGreaterThan(0);
    for (const ref of late) await expect(door.blobs.get(ref)).rejects.toThrow();
  });

  test('is audited for each patient', async () => {
    const { exportId } = await runs.run(['patients']);
    const rows = await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select('patient_id')
        .where('operation', '=', 'fhirExport')
        .where('target_id', '=', exportId)
        .where('patient_id', 'is not', null)
        .execute(),
    );
    expect(rows.map(({ patient_id }) => patient_id).sort()).toEqual(
      [...patientIds].sort(),
    );
  });

  test.each([
    [
      'an unknown resource',
      view('Colour', key),
      'there are no resources of the type Colour',
    ],
    ['no columns', view('Patient'), 'select must have 1 to 200 columns'],
    [
      'the same column twice',
      view('Patient', key, key),
      'The column id appears twice',
    ],
    [
      'an expression that is none',
      view('Patient', { name: 'a', path: 'name.(' }),
      'column[0].path is not a FHIRPath expression',
    ],
    [
      'more after an expression',
      view('Patient', { name: 'a', path: 'name name' }),
      'is not a FHIRPath expression',
    ],
    [
      'a regular expression',
      view('Patient', { name: 'a', path: "name.family.matches('(a+)+$')" }),
      'the function matches() is not available',
    ],
    [
      'a function that reads the clock',
      view('Patient', { name: 'a', path: 'today()' }),
      'the function today() is not available',
    ],
    [
      'a function that reads other resources',
      view('Patient', { name: 'a', path: 'generalPractitioner.resolve()' }),
      'resolve() is not available',
    ],
    [
      'an unknown constant',
      view('Patient', { name: 'a', path: '%colour' }),
      'the constant %colour is not defined',
    ],
    [
      'a name that is no name of a column',
      view('Patient', { name: 'a"; drop', path: 'id' }),
      'name: must begin with a letter',
    ],
    [
      'a type that is none',
      view('Patient', { name: 'a', path: 'gender', type: 'colour' }),
      'column[0].type: is no type of FHIR',
    ],
    [
      'a long expression',
      view('Patient', { name: 'a', path: `id${'.first()'.repeat(200)}` }),
      'more than 1000 characters',
    ],
    [
      'a large definition',
      { ...view('Patient', key), title: 'x'.repeat(70_000) },
      'at most 64000 bytes',
    ],
    [
      'unions of different columns',
      {
        ...view('Patient'),
        select: [
          {
            unionAll: [
              { column: [key] },
              { column: [{ name: 'b', path: 'id' }] },
            ],
          },
        ],
      },
      'different columns: id and b',
    ],
    [
      'two iterations in a select',
      {
        ...view('Patient'),
        select: [{ forEach: 'name', repeat: ['a'], column: [key] }],
      },
      'has both forEach and repeat',
    ],
    [
      'forty signs',
      view('Patient', { name: 'a', path: `${'-'.repeat(40)}1` }),
      'is nested deeper than 20',
    ],
    [
      'selects in selects without end',
      {
        ...view('Patient'),
        select: JSON.parse(
          `${'[{"select":'.repeat(1_500)}[]${'}]'.repeat(1_500)}`,
        ),
      },
      'nested too deep',
    ],
    [
      'no object',
      'patients-of-mine',
      'There is no ViewDefinition patients-of-mine; the ready-made ones are completeness',
    ],
  ])('of a definition with %s is refused', async (_, definition, message) => {
    const response = await runs.start([definition]);
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain(message);
  });

  test.each([
    [{ _format: 'xlsx' }, '_format: '],
    [{ colour: 'blue' }, 'colour'],
    [{ _since: 'yesterday' }, '_since: '],
    [
      { deidentified: true, incremental: true },
      'A de-identified run is always whole',
    ],
    [{ incremental: 'yes' }, 'incremental: '],
    [
      { group: { reference: 'Patient/1' } },
      'group.reference: must refer to a Group',
    ],
  ])('with %s is refused', async (options, message) => {
    const response = await runs.start(['patients'], options);
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain(message);
  });

  test('with very many parameters is refused', async () => {
    const many = await runs.start(Array(30).fill('patients'));
    expect(many.statusCode).toBe(400);
    expect(diagnosticsIn(many.json())).toContain('at most 20 parameters');
  });

  test('refuses what no single view says', async () => {
    const twice = await runs.start(['patients', 'patients']);
    expect(diagnosticsIn(twice.json())).toContain(
      'Give each view a name of its own',
    );
    const keyless = await runs.start(
      [view('Condition', { name: 'a', path: 'code.text' })],
      {
        incremental: true,
      },
    );
    expect(diagnosticsIn(keyless.json())).toContain(
      'needs a column with the path getResourceKey()',
    );
    const hidden = await runs.start([view('DocumentReference', key)], {
      deidentified: true,
    });
    expect(diagnosticsIn(hidden.json())).toContain(
      'DocumentReference has no de-identified form',
    );
    const sync = await runs.start(['patients'], {}, { prefer: '' });
    expect(diagnosticsIn(sync.json())).toContain('respond-async');
    expect(
      (
        await runs.start(['patients'], {
          group: { reference: `Group/${uuidv7()}` },
        })
      ).statusCode,
    ).toBe(404);
  });

  test.each([
    [
      'several values in one cell',
      view('Patient', { name: 'a', path: 'identifier.value' }),
      /The column a has several values/,
    ],
    [
      'a value of another type',
      view('Patient', { name: 'a', path: 'gender', type: 'integer' }),
      /The column a has a value that is not of its type/,
    ],
    [
      'a condition that gives no truth',
      { ...view('Patient', key), where: [{ path: 'gender' }] },
      /does not give true or false/,
    ],
    [
      'an iteration that does not end',
      { ...view('Patient'), select: [{ repeat: ['$this'], column: [key] }] },
      /does not end/,
    ],
    [
      'too many rows',
      {
        ...view('Patient'),
        select: Array.from({ length: 9 }, (_, n) => ({
          forEach: 'identifier',
          column: [{ name: `c${n}`, path: 'value' }],
        })),
      },
      /more than 10000 rows/,
    ],
  ])(
    'that meets %s fails with a reason, and leaves no files',
    async (_, definition, reason) => {
      const exportId = await runs.started([definition]);
      const of = { accountId: door.accountId, exportId };
      await runs.runnerOf().listPatients(of);
      expect(await runs.runnerOf().writeSlices(of)).toMatchObject({
        state: 'failed',
      });
      const status = await door.get(`bulk-export/${exportId}`);
      expect(status.statusCode).toBe(500);
      expect(diagnosticsIn(status.json())).toMatch(reason);
    },
  );

  test('of a definition that needs any amount of memory ends with a reason, and harms nothing else', async () => {
    const text = '.select(%resource.identifier)'.repeat(20);
    const hungry = view('Patient', {
      name: 'a',
      path: `identifier${text}.count()`,
    });
    const exportId = await runs.started([hungry]);
    const of = { accountId: door.accountId, exportId };
    const tables = createTableMaker(door, {
      heapMb: 64,
      timeoutMs: 240_000,
      idleMs: 1_000,
    });
    const runner = runs.runnerOf(door.blobs, undefined, tables);
    await runner.listPatients(of);
    expect(await runner.writeSlices(of)).toMatchObject({ state: 'failed' });
    expect(
      diagnosticsIn((await door.get(`bulk-export/${exportId}`)).json()),
    ).toContain('too expensive for the records (it needs too much memory)');
    expect(
      (await runs.run(['patients'], {}, runner)).files.length,
    ).toBeGreaterThan(0);
  });

  test('and its files are for the account alone, and need a key', async () => {
    const run = await runs.run(['patients']);
    const other = uuidv7();
    await door.store.asSystem((tx) =>
      insertAccount(tx, { id: other, name: 'Other', settings: {} }),
    );
    const headers = { 'x-api-key': await door.addKey(other) };
    const status = `bulk-export/${run.exportId}`;
    for (const path of [status, run.files[0]?.url ?? '']) {
      expect((await door.get(path, headers)).statusCode).toBe(404);
      expect(
        (
          await door.gateway.app.inject({
            url: new URL(path, 'http://x/fhir/R4/').pathname,
          })
        ).statusCode,
      ).toBe(401);
    }
    expect((await door.call('DELETE', status, headers)).statusCode).toBe(404);
    expect((await door.call('DELETE', status)).statusCode).toBe(202);
    expect((await door.get(status)).statusCode).toBe(404);
  });

  test('counts among the exports of the account that may run at a time', async () => {
    const ids = [
      await runs.started(['patients']),
      await runs.started(['patients']),
    ];
    expect((await runs.start(['patients'])).statusCode).toBe(429);
    // Before anything that it sent is read.
    expect((await runs.start([{ resource: 'Colour' }])).statusCode).toBe(429);
    for (const id of ids) await door.call('DELETE', `bulk-export/${id}`);
  });
});

describe('the ready-made views', () => {
  test('are listed and read as ViewDefinitions', async () => {
    const bundle = await door.bundle('ViewDefinition');
    expect(bundle.total).toBe(ALL.length);
    for (const { resource } of bundle.entry ?? [])
      expect(resource?.resourceType).toBe('ViewDefinition');
  });
});

describe('an incremental run', () => {
  test('gives what changed since the last one, and names what must go: changed, retired, and patients who left', async () => {
    const condition = (
      id: string,
      text: string,
      subject = 'p',
      severity = 'mild',
    ) =>
      delivery('hie', {
        resourceType: 'Condition',
        id,
        subject: { reference: `Patient/${subject}` },
        code: { text },
        severity: { text: severity },
      });
    const old = await door.addPatient(personOf(aSample()));
    const leaving = await door.addPatient(personOf(aSample()));
    await door.deliver(
      old,
      'hie',
      [
        condition('one', 'one'),
        condition('two', 'two'),
        condition('three', 'three'),
      ],
      ['p'],
    );
    await door.deliver(leaving, 'hie', [condition('four', 'four')], ['p']);
    for (const id of [old, leaving])
      await door.records.merge(door.accountId, id);
    const severity = { name: 'severity', path: 'severity.text' };
    const definition = {
      ...view('Condition', key, { name: 'text', path: 'code.text' }, severity),
      name: 'mine',
    };
    const run = () =>
      runs.run([definition], { _format: 'ndjson', incremental: true });
    const first = await run();
    expect(first.manifest.since).toBeUndefined();
    const rows = new Map(
      (await rowsOf(first, 'mine')).map(({ id, text }) => [
        String(text),
        String(id),
      ]),
    );
    expect([...rows.keys()]).toEqual(
      expect.arrayContaining(['one', 'two', 'three', 'four']),
    );
    await settle();

    const nothing = await run();
    expect(
      nothing.files.filter(
        ({ kind, rows: count }) => kind !== 'error' && count > 0,
      ),
    ).toEqual([]);
    expect(nothing.manifest.since).toBe(first.manifest.transactionTime);

    await settle();
    await door.deliver(
      old,
      'hie',
      [condition('two', 'two', 'p', 'severe')],
      ['p'],
    );
    const changed = await run();
    expect(
      (await rowsOf(changed, 'mine')).map(({ severity }) => severity),
    ).toEqual(['severe']);
    expect(await rowsOf(changed, 'deleted')).toContainEqual({
      resource_type: 'Condition',
      resource_key: rows.get('two'),
      change: 'changed',
    });

    await settle();
    await door.deliver(old, 'hie', [condition('one', 'one', 'another')], ['p']);
    await door.store.asAccount(door.accountId, (tx) =>
      tx.db.deleteFrom('patient').where('id', '=', leaving).execute(),
    );
    const gone = await rowsOf(await run(), 'deleted');
    expect(gone).toContainEqual({
      resource_type: 'Condition',
      resource_key: rows.get('one'),
      change: 'gone',
    });
    expect(gone).toContainEqual({
      resource_type: 'Patient',
      resource_key: leaving,
      change: 'gone',
    });
  });

  test('since a time that no known run precedes is refused, because nobody could say who has left', async () => {
    const response = await runs.start(['conditions'], {
      _since: '2020-01-01T00:00:00Z',
    });
    expect(response.statusCode).toBe(422);
    expect(diagnosticsIn(response.json())).toContain('run them whole');
  });

  test('follows only a run of the same definition', async () => {
    const of = (text: string) => ({
      ...view('Condition', key, { name: 'text', path: text }),
      name: 'same',
    });
    await runs.run([of('code.text')], { _format: 'ndjson' });
    const other = await runs.run([of('code.coding.first().code')], {
      _format: 'ndjson',
      incremental: true,
    });
    expect(other.manifest.since).toBeUndefined();
  });
});

function aSample() {
  const [sample] = smallSamples;
  if (sample === undefined) throw new Error('there are no samples');
  return sample;
}

/** As if everything had happened an hour ago. */
async function settle(): Promise<void> {
  await door.store.asAccount(door.accountId, async (tx) => {
    for (const change of [
      sql`update record_resource set changed_at = changed_at - interval '1 hour', gone_at = gone_at - interval '1 hour'`,
      sql`update patient set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour'`,
    ])
      await change.execute(tx.db);
  });
}
