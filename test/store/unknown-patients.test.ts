import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { recordTest } from '../support/fixtures.ts';

const VALUES = 2_000;
/**
 * Rows that may be read for each delivery, by all steps together: some 10 to
 * 40, depending on when PostgreSQL analyses the tables. A step that reads the
 * whole record for each reads 1,700 or more.
 */
const READ_MAX = 200;

recordTest(
  'what is read to merge a record and to show it grows with the record only, also for a patient that PostgreSQL’s statistics lack',
  async ({ environment }) => {
    const { store, accountId, blobs } = environment;
    const [sample] = samples;
    if (sample === undefined) throw new Error('there is no sample');
    const deliver = async (values: number) => {
      const patientId = await environment.addPatient(personOf(sample));
      const deliveries = Array.from({ length: values }, (_, index) =>
        delivery('hie', {
          resourceType: 'Observation',
          id: `value-${index}`,
          status: 'final',
          code: { text: `value ${index}` },
          derivedFrom: [{ reference: `Observation/value-${index + 1}` }],
          subject: { reference: 'Patient/them' },
        }),
      );
      await environment.deliver(patientId, 'hie', deliveries, ['them']);
      return patientId;
    };
    // The statistics then have each patient, so that any other one seems to
    // have no rows.
    for (const values of [100, 100, 100])
      await environment.records.merge(accountId, await deliver(values));
    const admin = new pg.Client({ connectionString: environment.databaseUrl });
    await admin.connect();
    await admin.query('analyze record_origin, record_key, patient_resource');
    await admin.end();

    let read = 0;
    const counting = {
      ...store,
      asAccount: ((account, work) =>
        store.asAccount(account, async (tx) => {
          const result = await work(tx);
          const { rows } = await sql<{ read: number }>`
            select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
            where relname in ('record_origin', 'record_key', 'patient_resource')`.execute(
            tx.db,
          );
          read += rows[0]?.read ?? Number.NaN;
          return result;
        })) as typeof store.asAccount,
    };
    const patientId = await deliver(VALUES);
    const converter = createCcdaConverter();
    const records = createRecordKeeper({
      store: counting,
      blobs,
      converter,
      noteIncomplete,
    });
    expect(await records.merge(accountId, patientId)).toEqual({
      changed: VALUES,
    });
    expect(read).toBeLessThan(READ_MAX * VALUES);
    read = 0;
    const reader = await openRecordReader(counting, {
      accountId,
      patientId,
      filter: {},
    });
    expect(reader.counts).toMatchObject({ Observation: VALUES });
    expect(read).toBeLessThan(READ_MAX * VALUES);
  },
);
