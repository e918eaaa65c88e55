import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { copyPatients } from '../../test/support/copy-patients.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';
import { addPatient, deliver } from '../merge/run.ts';

/** Copies of each sample patient that one statement makes. */
const COPIES_AT_ONCE = 50;

/**
 * Merges the sample patients, and copies them into an account of its own.
 * Returns that account.
 */
export async function prepareRecords(
  store: Store,
  databaseUrl: string,
  patients: number,
  merge: (accountId: string, patientId: string) => Promise<unknown>,
  note: (line: string) => void,
): Promise<string> {
  const from = uuidv7();
  const to = uuidv7();
  for (const id of [from, to])
    await store.asSystem((tx) =>
      insertAccount(tx, { id, name: id, settings: {} }),
    );
  const samples = loadSamplePatients();
  for (const sample of samples) {
    const patientId = await addPatient(store, from, sample);
    await deliver(store, from, patientId, deliveriesOfSample(sample), 1);
    await merge(from, patientId);
  }
  const pool = new Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const rows = async (statement: string, values?: unknown[]) =>
      (await pool.query(statement, values)).rows;
    // The copies refer to each other as the originals do; checking that again
    // would take most of the time.
    await rows('set session_replication_role = replica');
    await rows('set synchronous_commit = off');
    const copies = Math.ceil(patients / samples.length);
    for (let first = 1; first <= copies; first += COPIES_AT_ONCE) {
      const times = Math.min(COPIES_AT_ONCE, copies - first + 1);
      await copyPatients(rows, { from, to, first, times, isMerged: true });
      note(`${(first - 1 + times) * samples.length} patients are prepared`);
    }
    await rows('vacuum analyze');
    await rows('checkpoint');
  } finally {
    await pool.end();
  }
  return to;
}
