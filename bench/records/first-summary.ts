import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { callGateway, type StackAccount, startTestStack, type TestStack } from '../../test/support/stack.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';
import { addPatient, deliver, sampleOf } from '../merge/run.ts';

export interface FirstSummaryOptions {
  sample: string;
  /** How many times the record is repeated, each time as different resources. */
  copies: number;
  rounds: number;
  format: 'html' | 'pdf' | 'json';
}

export interface FirstSummaryRound {
  deliveries: number;
  /** Until the consolidated query was accepted. */
  acceptedMs: number;
  /** Until it was completed: nothing had been merged before. */
  completedMs: number;
  /** The same for a second one of the same record. */
  againMs: number;
}

const POLL_MS = 20;

/** How long a caller waits for the first summary of a record of which nothing has been merged, on a whole stack. */
export async function benchFirstSummary(
  { sample, copies, rounds, format }: FirstSummaryOptions,
  note: (line: string) => void,
): Promise<{ rounds: FirstSummaryRound[]; load: [number, number] }> {
  const load: [number, number] = [loadavg()[0] ?? 0, 0];
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-summary-'));
  const stack = await startTestStack({ dataDir, logLevel: 'warn' });
  const store = createStore({ databaseUrl: stack.connection.databaseUrl, poolMax: 2 });
  const measured: FirstSummaryRound[] = [];
  try {
    const account = await stack.addAccount();
    const deliveries = deliveriesOfSample(sampleOf(sample));
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round += 1) {
      const patientId = await addPatient(store, account.accountId, sampleOf(sample));
      await deliver(store, account.accountId, patientId, deliveries, round === 0 ? 1 : copies);
      const [{ count = 0 } = {}] = await stack.rows<{ count: number }>(
        'select count(*)::int as count from patient_resource where patient_id = $1',
        [patientId],
      );
      const first = await summarise(stack, account, patientId, format);
      const again = await summarise(stack, account, patientId, format);
      if (round === 0) continue;
      measured.push({ deliveries: count, ...first, againMs: again.completedMs });
      note(`round ${round}: ${JSON.stringify(measured.at(-1))}`);
    }
    load[1] = loadavg()[0] ?? 0;
    return { rounds: measured, load };
  } finally {
    await store.close();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function summarise(
  { connection }: TestStack,
  account: StackAccount,
  patientId: string,
  format: FirstSummaryOptions['format'],
): Promise<Pick<FirstSummaryRound, 'acceptedMs' | 'completedMs'>> {
  const begunAt = performance.now();
  const path = `patient/${patientId}/consolidated/query`;
  const { status, body } = await callGateway(connection, account, 'POST', `${path}?conversionType=${format}`);
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
  const acceptedMs = performance.now() - begunAt;
  for (;;) {
    const { body: query } = await callGateway(connection, account, 'GET', `${path}/${body.requestId}`);
    if (query.status === 'completed') return { acceptedMs, completedMs: performance.now() - begunAt };
    if (query.status !== 'processing') throw new Error(`The consolidated query is ${query.status}`);
    await sleep(POLL_MS);
  }
}
