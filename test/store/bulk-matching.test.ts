import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { assignToCohorts } from '../../src/exchange/people/cohorts/change-cohort.ts';
import { createOrMatchPatient } from '../../src/exchange/people/registration/save-patient.ts';
import { retryOvertaken } from '../../src/exchange/platform/database/retry.ts';
import type { BlobStore } from '../../src/shared/blobs/blob-store.ts';
import { createRowReader } from '../../src/shared/bulk-csv/row-reader.ts';
import {
  type BulkEnvironment,
  test as bulkTest,
  csvOf,
  HMAC_KEY,
  person,
} from './bulk-environment.ts';
import { someRows, withoutIds } from './bulk-rows.ts';

const test = bulkTest.extend('chunkRows', { scope: 'file' }, 3);

type Account = Awaited<ReturnType<BulkEnvironment['addAccount']>>;

/** The rows as E4 bodies, one after the other; answers the status of each. */
async function createOneByOne(
  { store }: BulkEnvironment,
  account: Account,
  rows: Record<string, string>[],
): Promise<string[]> {
  const statuses: string[] = [];
  for (const row of rows) {
    const layout = {
      recordDelimiter: '\n' as const,
      bom: false,
      columns: Object.keys(row),
    };
    const { value } = createRowReader(layout)(Object.values(row));
    if (value === undefined) {
      statuses.push('failed');
      continue;
    }
    const isNew = await retryOvertaken(() =>
      store.asAccount(account.accountId, async (tx) => {
        const saved = await createOrMatchPatient(
          { tx, hmacKey: HMAC_KEY },
          value.patient,
          value.facilityId ?? account.facilityId,
        );
        await assignToCohorts(tx, saved.patient, value.cohorts, 'cohorts');
        return saved.isNew;
      }),
    );
    statuses.push(isNew ? 'created' : 'updated');
  }
  return statuses;
}

describe('importing rows', () => {
  test('gives the patients that the same rows give by E4, one after the other', async ({
    env,
  }) => {
    await fc.assert(
      fc.asyncProperty(someRows(12), someRows(4), async (rows, before) => {
        const byFile = await env.addAccount();
        const byCalls = await env.addAccount();
        await createOneByOne(env, byFile, before);
        await createOneByOne(env, byCalls, before);
        const result = await env.run(
          byFile.accountId,
          await env.upload(byFile, csvOf(rows)),
        );
        const statuses = await createOneByOne(env, byCalls, rows);
        expect(result.map(({ status }) => status)).toEqual(statuses);
        expect(await env.patients(byFile.accountId)).toEqual(
          await env.patients(byCalls.accountId),
        );
      }),
      { numRuns: 8 },
    );
  });

  test('keeps two with another SSN or licence apart as E4 does, within a chunk, across chunks and in a second file', async ({
    env,
  }) => {
    const byFile = await env.addAccount();
    const byCalls = await env.addAccount();
    const licence = (no: string) => ({
      driversLicenseNo: no,
      driversLicenseState: 'MA',
    });
    const dob = `${new Date().getUTCFullYear()}-01-14`;
    const rows = [
      person('Ann', '02116', { ssn: '512345671' }),
      person('Ann', '02116', { ssn: '623456782' }),
      person('Ann', '02116', { ssn: '512345671', externalId: 'ann-1' }),
      person('Ann', '02116', { ssn: '623456782', externalId: 'ann-2' }),
      person('Ann', '02116', licence('S1234987')),
      person('Ann', '02116', { ssn: '734567893' }),
      person('Ann'),
      person('Baby Girl', '02116', { dob, externalId: 'newborn-1' }),
      person('Baby Girl', '02116', { dob, externalId: 'newborn-1' }),
      person('Baby Girl', '02116', { dob, externalId: 'newborn-2' }),
    ];
    for (const round of [1, 2]) {
      const result = await env.run(
        byFile.accountId,
        await env.upload(byFile, csvOf(rows)),
      );
      const statuses = await createOneByOne(env, byCalls, rows);
      expect([round, ...result.map(({ status }) => status)]).toEqual([
        round,
        ...statuses,
      ]);
      expect(await env.patients(byFile.accountId)).toEqual(
        await env.patients(byCalls.accountId),
      );
      if (round === 2) continue;
      expect(statuses.slice(0, 7)).toEqual([
        'created',
        'created',
        'updated',
        'updated',
        'updated',
        'created',
        'updated',
      ]);
      expect(result[1]?.reason).toContain(
        "another SSN or driver's licence than patient",
      );
      expect(statuses.slice(7)).toEqual(['created', 'updated', 'created']);
    }
  });

  test('finds each of several people of one description by any of their SSNs and licences, as E4 does', async ({
    env,
  }) => {
    const ssn = fc.constantFrom(
      undefined,
      '512345671',
      '623456782',
      '734567893',
    );
    const driversLicenseNo = fc.constantFrom(
      undefined,
      'S1234987',
      'T7154328',
      'U8812345',
    );
    const row = fc
      .record({ ssn, driversLicenseNo })
      .map(({ ssn = '', driversLicenseNo: no = '' }) =>
        person('Ann', '02116', {
          ssn,
          driversLicenseNo: no,
          driversLicenseState: no && 'MA',
        }),
      );
    const rows = (maxLength: number) =>
      fc.array(row, { minLength: 1, maxLength });
    await fc.assert(
      fc.asyncProperty(rows(10), rows(4), async (imported, before) => {
        const byFile = await env.addAccount();
        const byCalls = await env.addAccount();
        for (const account of [byFile, byCalls])
          await createOneByOne(env, account, before);
        const result = await env.run(
          byFile.accountId,
          await env.upload(byFile, csvOf(imported)),
        );
        const statuses = await createOneByOne(env, byCalls, imported);
        expect(result.map(({ status }) => status)).toEqual(statuses);
        expect(await env.patients(byFile.accountId)).toEqual(
          await env.patients(byCalls.accountId),
        );
        expect(new Set(await createOneByOne(env, byCalls, imported))).toEqual(
          new Set(['updated']),
        );
      }),
      { numRuns: 20 },
    );
  });

  test('keeps the external ids of all rows of a person, within a chunk and across, and says what a row replaced', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const rows = ['a', 'b', 'b', 'c', 'd'].map((id, index) =>
      person('Ann', '02116', {
        externalId: id,
        hieOptOut: index === 3 ? 'true' : '',
      }),
    );
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
    );
    expect(
      result.map(({ status, reason }) => `${status} ${reason}`.trim()),
    ).toEqual([
      'created',
      'updated external id a replaced; it still finds the patient',
      'updated',
      'updated external id b replaced; it still finds the patient; hieOptOut was false',
      'updated external id c replaced; it still finds the patient',
    ]);
    const { rows: patients } = await env.store.asAccount(
      account.accountId,
      (tx) =>
        sql`select external_id, former_external_ids from patient`.execute(
          tx.db,
        ),
    );
    expect(patients).toEqual([
      { external_id: 'd', former_external_ids: ['c', 'b', 'a'] },
    ]);
  });

  test('says that a created patient has the external id of another one', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const [first] = await env.run(
      account.accountId,
      await env.upload(
        account,
        csvOf([person('Ann', '02116', { externalId: 'a' })]),
      ),
    );
    const result = await env.run(
      account.accountId,
      await env.upload(
        account,
        csvOf([person('Bea', '02116', { externalId: 'a' })]),
      ),
    );
    expect(result).toMatchObject([
      {
        status: 'created',
        reason: `external id a is also that of patient ${first?.patientId}`,
      },
    ]);
  });

  test('remarks on an external id whose digits a spreadsheet has lost, and joins nobody by it', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const lost = {
      externalId: '7.30102E+14',
      dob: `${new Date().getUTCFullYear()}-01-14`,
    };
    const result = await env.run(
      account.accountId,
      await env.upload(
        account,
        csvOf([
          person('Baby Boy', '02116', lost),
          person('Baby Boy', '02116', lost),
        ]),
      ),
    );
    const reason =
      'external id 7.30102E+14 is in scientific notation: a spreadsheet has lost digits of it, and others may have the same';
    expect(result).toMatchObject([
      { status: 'created', reason: expect.stringContaining(reason) },
      { status: 'created', reason: expect.stringContaining(reason) },
    ]);
  });

  test('does not double newborns without an id when the same file is sent again, and never joins two rows', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const newborn = person('Baby Boy', '02116', {
      dob: `${new Date().getUTCFullYear()}-01-14`,
    });
    const send = async (rows: Parameters<typeof csvOf>[0]) =>
      env.run(account.accountId, await env.upload(account, csvOf(rows)));
    const ids = (rows: readonly { patientId: string }[]) =>
      rows.map(({ patientId }) => patientId);
    const first = await send([newborn, newborn]);
    expect(new Set(ids(first)).size).toBe(2);
    const again = await send([newborn, newborn]);
    expect(again.map(({ status }) => status)).toEqual(['updated', 'updated']);
    expect(ids(again)).toEqual(ids(first));
    const [another] = await send([newborn]);
    expect(another?.status).toBe('created');
  });

  test('fails the row that a patient has no room for, with the reason, and no other', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const rows = Array.from({ length: 13 }, (_, row) =>
      person(
        'Ann',
        '02116',
        Object.fromEntries(
          Array.from({ length: 9 }, (_, index) => [
            [`addressLine1-${index + 2}`, `${row} Elm ${index}`],
            [`city-${index + 2}`, 'Boston'],
            [`state-${index + 2}`, 'MA'],
            [`zip-${index + 2}`, '02117'],
          ]).flat(),
        ),
      ),
    );
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf([...rows, person('Ann', '02116')])),
    );
    expect(result.map(({ status }) => status)).toEqual([
      'created',
      ...Array.from({ length: 10 }, () => 'updated'),
      'failed',
      'failed',
      'updated',
    ]);
    expect(result[11]?.reason).toMatch(
      /^patient [0-9a-f-]{36} would have 109 addresses, but at most 100 are allowed;/,
    );
    const [patient] = await env.patients(account.accountId);
    expect(JSON.stringify(patient).match(/ Elm /g)).toHaveLength(99);
  });

  test('a row that no longer fits the new patient of its chunk goes to the older one that it matches too', async ({
    env,
  }) => {
    const addresses = (row: number, zip: string) =>
      Object.fromEntries(
        Array.from({ length: 9 }, (_, index) => [
          [`addressLine1-${index + 2}`, `${row} Elm ${index}`],
          [`city-${index + 2}`, 'Boston'],
          [`state-${index + 2}`, 'MA'],
          [`zip-${index + 2}`, zip],
        ]).flat(),
      );
    const engine = env.engineWith({ chunkRows: 12 });
    const account = await env.addAccount();
    const [older] = await env.run(
      account.accountId,
      await env.upload(account, csvOf([person('Ann', '02119')])),
    );
    // A chunk of newcomers, after which another one is expected, and one that
    // looks like it up to its last row.
    const rows = [
      ...Array.from({ length: 12 }, (_, row) =>
        person('Bea', String(10_000 + row)),
      ),
      ...Array.from({ length: 11 }, (_, row) =>
        person('Ann', '02116', addresses(row, '02117')),
      ),
      person('Ann', '02116', addresses(12, '02119')),
    ];
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
      engine,
    );
    expect(result[22]).toMatchObject({
      status: 'updated',
      patientId: result[12]?.patientId,
    });
    expect(result[23]).toMatchObject({
      status: 'updated',
      patientId: older?.patientId,
      reason: `also matches patient ${result[12]?.patientId}, not updated`,
    });
  });

  test('a dry run foretells every row and writes nobody', async ({ env }) => {
    await fc.assert(
      fc.asyncProperty(someRows(12), someRows(3), async (rows, before) => {
        const account = await env.addAccount();
        await createOneByOne(env, account, before);
        const patientsBefore = await env.patients(account.accountId);
        const csv = csvOf(rows);
        const trialId = await env.upload(account, csv, { dryRun: true });
        const trial = await env.run(account.accountId, trialId);
        expect(await env.patients(account.accountId)).toEqual(patientsBefore);
        const left = await env.store.asAccount(
          account.accountId,
          async (tx) => [
            ...(await tx.db
              .selectFrom('bulk_trial_key')
              .select('key')
              .execute()),
            ...(await tx.db
              .selectFrom('bulk_patient')
              .select('first_row')
              .execute()),
          ],
        );
        expect(left).toEqual([]);

        const real = await env.run(
          account.accountId,
          await env.upload(account, csv),
        );
        const foretold = {
          created: 'would-create',
          updated: 'would-update',
          failed: 'failed',
        };
        expect(trial.map(({ status }) => status)).toEqual(
          real.map(({ status }) => foretold[status as keyof typeof foretold]),
        );
        const known = new Set(
          real
            .filter((_, index) => trial[index]?.patientId !== '')
            .map((row) => row.patientId),
        );
        expect(trial.map(({ patientId }) => patientId)).toEqual(
          real.map(({ patientId }) => (known.has(patientId) ? patientId : '')),
        );
        const { created, updated, failed } = await env.counts(
          account.accountId,
          trialId,
        );
        expect(created + updated + failed).toBe(rows.length);
      }),
      { numRuns: 8 },
    );
  });

  test('somebody who comes again a few chunks later is known by then, in a dry run too', async ({
    env,
  }) => {
    const account = await env.addAccount();
    // Three rows a chunk: those of the first come again in the chunk after the
    // next, and two later once more.
    const rows = ['', 'x', '', 'y', ''].flatMap((end) =>
      ['Ann', 'Bea', 'Cid'].map((name) => person(name + end)),
    );
    // Chunks end late, so that as many as may be are under way at once.
    const put: BlobStore['put'] = async (...blob) => {
      await sleep(50);
      return env.blobs.put(...blob);
    };
    const engine = env.engineWith({ blobs: { ...env.blobs, put } });
    for (const dryRun of [true, false]) {
      const requestId = await env.upload(account, csvOf(rows), { dryRun });
      const result = await env.run(account.accountId, requestId, engine);
      const seen = new Set<string>();
      const expected = rows.map(({ firstName }) => {
        const isKnown = seen.has(firstName);
        seen.add(firstName);
        return isKnown ? 'update' : 'create';
      });
      expect(
        result.map(({ status }) =>
          status.includes('update') ? 'update' : 'create',
        ),
      ).toEqual(expected);
    }
  });

  test('a dry run knows the SSNs of earlier chunks, of new and of known patients', async ({
    env,
  }) => {
    const account = await env.addAccount();
    await createOneByOne(env, account, [person('Bea', '02116')]);
    // Three rows a chunk. Each person comes without an SSN, then with one, and
    // then with another one, who is somebody else.
    const rows = ['', '512345671', '623456782', '512345671'].flatMap((ssn) =>
      ['Ann', 'Bea', 'Cid'].map((name) =>
        person(name, '02116', ssn === '' ? {} : { ssn }),
      ),
    );
    const [trial, real] = [
      await env.run(
        account.accountId,
        await env.upload(account, csvOf(rows), { dryRun: true }),
      ),
      await env.run(account.accountId, await env.upload(account, csvOf(rows))),
    ].map((result) =>
      result.map(({ status }) =>
        status.includes('create') ? 'create' : 'update',
      ),
    );
    const known = ['update', 'update', 'update'];
    const other = ['create', 'create', 'create'];
    expect(real).toEqual([
      'create',
      'update',
      'create',
      ...(known ?? []),
      ...(other ?? []),
      ...(known ?? []),
    ]);
    expect(trial).toEqual(real);
    const left = await env.store.asAccount(account.accountId, (tx) =>
      tx.db.selectFrom('bulk_trial_identifier').select('person_id').execute(),
    );
    expect(left).toEqual([]);
  });

  test('a dry run names a person that would be new by its row', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const both = {
      'addressLine1-2': '2 Oak',
      'city-2': 'Boston',
      'state-2': 'MA',
      'zip-2': '02118',
    };
    const rows = [
      person('Ann', '02118'),
      person('Bea'),
      person('Cid'),
      person('Ann', '02117'),
      person('Ann', '02117', both),
    ];
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows), { dryRun: true }),
    );
    expect(result[4]).toMatchObject({
      status: 'would-update',
      patientId: '',
      reason: 'also matches the patient of row 4, not updated',
    });
  });
});

describe('at the same time', () => {
  const people = ['Ann', 'Bea', 'Cid', 'Dee', 'Eve', 'Fay', 'Gus', 'Hal'];
  const rowsOf = (zip: string) =>
    people.map((name) =>
      person(name, '02116', {
        'addressLine1-2': '2 Oak',
        'city-2': 'Boston',
        'state-2': 'MA',
        'zip-2': zip,
      }),
    );

  test('overlapping files and creates of the same people end with each person once', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const files = [rowsOf('02117'), rowsOf('02118').reverse(), rowsOf('02119')];
    const imports = files.map(async (rows) =>
      env.run(account.accountId, await env.upload(account, csvOf(rows))),
    );
    const [results] = await Promise.all([
      Promise.all(imports),
      createOneByOne(env, account, rowsOf('02120')),
      createOneByOne(env, account, rowsOf('02121').reverse()),
    ]);
    const patients = await env.patients(account.accountId);
    expect(patients.map(({ first_names }) => first_names[0]).sort()).toEqual(
      people,
    );
    for (const patient of patients) expect(patient).toMatchObject({ keys: 6 });
    const statuses = results.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status === 'failed')).toEqual([]);
    expect(new Set(results.flat().map(({ patientId }) => patientId)).size).toBe(
      people.length,
    );
  });

  test('two workers on one request count every row once and keep no blob too many', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const rows = [...rowsOf('02117'), ...rowsOf('02118')];
    const alone = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
    );
    const twin = await env.addAccount();
    const requestId = await env.upload(twin, csvOf(rows));
    const blobsBefore = await env.countBlobs();
    await Promise.all(
      [1, 2].map(() => env.engine.check(twin.accountId, requestId)),
    );
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => env.engine.processChunks(twin.accountId, requestId)),
    );
    expect(outcomes.map(({ done }) => done)).toEqual([true, true, true]);
    const results = await Promise.all(
      [1, 2].map(() => env.result(twin.accountId, requestId)),
    );
    expect(results[0]).toEqual(results[1]);
    expect(withoutIds(results[0] ?? [])).toEqual(withoutIds(alone));
    expect(await env.counts(twin.accountId, requestId)).toEqual({
      rows: 16,
      handled: 16,
      created: 8,
      updated: 8,
      failed: 0,
    });
    expect((await env.countBlobs()) - blobsBefore).toBe(1);
  });
});
