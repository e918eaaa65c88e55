import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { csvOf, person, test } from './bulk-environment.ts';

const statuses = (rows: { status: string }[]) =>
  rows.map(({ status }) => status).join(' ');

describe('a bulk create', () => {
  test('accounts for every row, in order, and leaves nothing behind', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const rows = [
      person('Ann', '02116', {
        note: '=1+1',
        'phone-1': '6175551234',
        'email-1': 'ann@example.org',
      }),
      person('Bea', '2116', { note: 'a "note",\nof two lines' }),
      person('Cid', '02116', { gender: 'x', dob: '1980' }),
      person('ann', '02117', {
        'addressLine1-2': '2 Oak',
        'city-2': 'Boston',
        'state-2': 'MA',
        'zip-2': '02116',
      }),
      person('Dee', '02116', { hieOptOut: 'TRUE', externalId: 'r-5' }),
    ];
    const blobsBefore = await env.countBlobs();
    const requestId = await env.upload(account, `\uFEFF${csvOf(rows)}\r\n\r\n`);
    const result = await env.run(account.accountId, requestId);

    expect(statuses(result)).toBe('created failed failed updated created');
    expect(result.map(({ firstName }) => firstName)).toEqual([
      'Ann',
      'Bea',
      'Cid',
      'ann',
      'Dee',
    ]);
    expect(result[0]?.note).toBe("'=1+1");
    expect(result[1]).toMatchObject({
      note: 'a "note",\nof two lines',
      patientId: '',
      metriportId: '',
    });
    expect(result[1]?.reason).toMatch(
      /^zip-1: "2116" has 4 digits, 5 expected/,
    );
    expect(result[2]?.reason).toBe(
      'dob: "1980" is not a date in the format YYYY-MM-DD; gender: expected M, F, O (known, neither M nor F) or U (unknown)',
    );
    expect(result[3]?.patientId).toBe(result[0]?.patientId);
    expect(result[0]?.metriportId).toBe(result[0]?.patientId);

    expect(await env.counts(account.accountId, requestId)).toEqual({
      rows: 5,
      handled: 5,
      created: 2,
      updated: 1,
      failed: 2,
    });
    const patients = await env.patients(account.accountId);
    expect(patients).toHaveLength(2);
    expect(patients[0]).toMatchObject({
      first_names: ['Ann'],
      addresses: [
        { zip: '02117' },
        { addressLine1: '2 Oak' },
        { addressLine1: '1 Main St', zip: '02116' },
      ],
      contacts: [{ phone: '6175551234', email: 'ann@example.org' }],
      keys: 2,
    });
    expect(patients[1]).toMatchObject({
      hie_opt_out: true,
      external_id: 'r-5',
    });

    // The upload and the result; the parts are gone.
    expect((await env.countBlobs()) - blobsBefore).toBe(2);
    const { told, audit } = await env.store.asAccount(
      account.accountId,
      async (tx) => ({
        told: await tx.db
          .selectFrom('bulk_patient')
          .select(['patient_id', 'first_row'])
          .where('request_id', '=', requestId)
          .orderBy('first_row')
          .execute(),
        audit: await tx.db
          .selectFrom('audit_entry')
          .select(['operation', 'outcome', 'target_id'])
          .orderBy('id')
          .execute(),
      }),
    );
    expect(told).toEqual([
      { patient_id: result[0]?.patientId, first_row: 1 },
      { patient_id: result[4]?.patientId, first_row: 5 },
    ]);
    expect(audit).toEqual([
      {
        operation: 'bulkPatientCreate',
        outcome: 'chunk 0: 1 created, 0 updated, 1 failed',
        target_id: requestId,
      },
      {
        operation: 'bulkPatientCreate',
        outcome: 'chunk 1: 0 created, 1 updated, 1 failed',
        target_id: requestId,
      },
      {
        operation: 'bulkPatientCreate',
        outcome: 'chunk 2: 1 created, 0 updated, 0 failed',
        target_id: requestId,
      },
    ]);
    expect(await env.result(account.accountId, requestId)).toEqual(result);
  });

  test('of a file with a good header and no row ends with an empty result', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const requestId = await env.upload(account, csvOf([]));
    expect(await env.run(account.accountId, requestId)).toEqual([]);
  });

  test('of a file in another format is refused and writes nothing', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const requestId = await env.upload(
      account,
      `${csvOf([person('Ann')])}"open`,
    );
    expect(await env.engine.check(account.accountId, requestId)).toEqual({
      kind: 'refused',
      reason: 'row 2 opens a quotation mark that is never closed',
    });
    expect(await env.counts(account.accountId, requestId)).toMatchObject({
      rows: 0,
    });
  });

  test('of a file already imported updates everybody and changes nobody', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const csv = csvOf([
      person('Ann', '02116', { ssn: '123456789' }),
      person('Bea'),
      person('Cid'),
    ]);
    const first = await env.run(
      account.accountId,
      await env.upload(account, csv),
    );
    const before = await env.patients(account.accountId);
    const again = await env.run(
      account.accountId,
      await env.upload(account, csv),
    );
    expect(statuses(again)).toBe('updated updated updated');
    expect(again.map(({ patientId }) => patientId)).toEqual(
      first.map(({ patientId }) => patientId),
    );
    expect(await env.patients(account.accountId)).toEqual(before);
    const versions = await env.store.asAccount(account.accountId, (tx) =>
      tx.db.selectFrom('patient').select('version').execute(),
    );
    expect(versions.map(({ version }) => version)).toEqual([1, 1, 1]);
  });

  test('creates again whoever was deleted: a patient takes its identity keys along', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const csv = csvOf([person('Ann'), person('Bea')]);
    await env.run(account.accountId, await env.upload(account, csv));
    await env.store.asAccount(account.accountId, (tx) =>
      tx.db
        .deleteFrom('patient')
        .where('first_names', '@>', sql<string[]>`array['Ann']`)
        .execute(),
    );
    expect(
      statuses(
        await env.run(account.accountId, await env.upload(account, csv)),
      ),
    ).toBe('created updated');
  });

  test('where the zips of a row lead to several patients updates the oldest and tells of the others', async ({
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
      person('Ann', '02117'),
      person('Ann', '02117', both),
    ];
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
    );
    expect(statuses(result)).toBe('created created updated');
    expect(result[2]?.patientId).toBe(result[0]?.patientId);
    expect(result[2]?.reason).toBe(
      `also matches patient ${result[1]?.patientId}, not updated`,
    );
  });

  test('stops when the request is paused or has ended, and says so', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const requestId = await env.upload(
      account,
      csvOf([person('Ann'), person('Bea'), person('Cid')]),
    );
    await env.engine.check(account.accountId, requestId);
    const set = (change: {
      paused?: boolean;
      status?: 'failed' | 'processing';
    }) =>
      env.store.asAccount(account.accountId, (tx) =>
        tx.db
          .updateTable('bulk_request')
          .set(change)
          .where('id', '=', requestId)
          .execute(),
      );
    const step = (options = {}) =>
      env.engine.processChunks(account.accountId, requestId, options);
    expect(await step({ maxChunks: 1 })).toMatchObject({
      done: false,
      counts: { handled: 2 },
    });
    await set({ paused: true });
    expect(await step()).toMatchObject({ done: false, stopped: 'paused' });
    await set({ paused: false, status: 'failed' });
    expect(await step()).toMatchObject({ done: false, stopped: 'ended' });
    await set({ status: 'processing' });
    expect(await step({ untilMs: 0 })).toMatchObject({
      done: false,
      counts: { handled: 2 },
    });
    await expect(
      step({ signal: AbortSignal.abort(new Error('stop')) }),
    ).rejects.toThrow('stop');
    const told: number[] = [];
    expect(
      await step({
        onChunk: ({ handled }: { handled: number }) => told.push(handled),
      }),
    ).toMatchObject({
      done: true,
    });
    expect(told).toEqual([3]);
  });
});

describe('facilities, cohorts and consent of a row', () => {
  test('a facility or cohort that is not there fails the row, with its other errors', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const other = await env.addAccount();
    const foreign = await env.addCohort(other.accountId, 'operations');
    const nowhere = '01890a5d-ac96-774b-bcce-b302099a8057';
    const rows = [
      person('Ann', '02116', { facilityId: nowhere }),
      person('Bea', '0211', { 'cohort-2': foreign }),
      person('Cid', '02116', { facilityId: account.facilityId.toUpperCase() }),
    ];
    const result = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
    );
    expect(statuses(result)).toBe('failed failed created');
    expect(result[0]?.reason).toBe(
      `facilityId: there is no facility ${nowhere}`,
    );
    expect(result[1]?.reason).toMatch(
      new RegExp(`^zip-1: "0211" .*; cohort-2: there is no cohort ${foreign}$`),
    );
    expect(await env.patients(account.accountId)).toHaveLength(1);
  });

  test('cohorts are assigned; a patient without treatment relationship is kept out of treatment cohorts and unchanged', async ({
    env,
  }) => {
    const account = await env.addAccount();
    const treatment = await env.addCohort(account.accountId, 'treatment');
    const operations = await env.addCohort(account.accountId, 'operations');
    await env.run(
      account.accountId,
      await env.upload(account, csvOf([person('Ann'), person('Bea')])),
    );
    await env.store.asAccount(account.accountId, (tx) =>
      tx.db
        .updateTable('patient')
        .set({ treatment_relationship: false })
        .where('first_names', '@>', sql<string[]>`array['Ann']`)
        .execute(),
    );
    const before = await env.patients(account.accountId);
    const rows = [
      person('Ann', '02116', {
        'phone-1': '6175551234',
        'cohort-1': operations,
        'cohort-2': treatment,
      }),
      person('Bea', '02116', { 'cohort-1': treatment, 'cohort-2': operations }),
    ];
    const [ann, bea] = await env.run(
      account.accountId,
      await env.upload(account, csvOf(rows)),
    );
    expect(ann).toMatchObject({ status: 'failed', patientId: '' });
    expect(ann?.reason).toMatch(
      /^a cohort of this row is for treatment, and patient [0-9a-f-]{36} has no treatment relationship$/,
    );
    expect(bea).toMatchObject({ status: 'updated' });
    const after = await env.patients(account.accountId);
    expect(after[0]).toEqual(before[0]);
    expect(after[1]).toEqual({ ...before[1], memberships: 2 });
    // To a cohort of another purpose it may go.
    const allowed = csvOf([person('Ann', '02116', { 'cohort-1': operations })]);
    expect(
      statuses(
        await env.run(account.accountId, await env.upload(account, allowed)),
      ),
    ).toBe('updated');
  });
});
