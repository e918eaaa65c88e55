import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';
import { viewRunsOf } from '../support/view-runs.ts';

let door: FhirDoor;
let address: string;
beforeAll(async () => {
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  door = await createFhirDoor({ publicBaseUrl: address });
  await door.gateway.app.listen({ port, host: '127.0.0.1' });
});
afterAll(() => door.close());

const run = (KEY: string) =>
  promisify(execFile)(
    process.execPath,
    ['examples/views/active-conditions.mjs'],
    {
      env: { ...process.env, BASE: `${address}/fhir/R4`, KEY },
    },
  );

test('the example runs a view of its own, and counts in DuckDB how many patients have each active condition', async () => {
  const condition = (id: string, text: string, code: string) =>
    delivery('hie', {
      resourceType: 'Condition',
      id,
      subject: { reference: 'Patient/p' },
      code: { text },
      clinicalStatus: { coding: [{ code }] },
    });
  for (const sample of samples.slice(0, 2)) {
    const patientId = await door.addPatient(personOf(sample));
    const own = [
      condition('a', 'Zebra disease', 'active'),
      condition('b', 'Okapi disease', 'resolved'),
    ];
    await door.deliver(patientId, 'hie', own, ['p']);
  }
  const { runnerOf } = viewRunsOf(door);
  let isRun = false;
  const ended = run(door.apiKey).finally(() => {
    isRun = true;
  });
  ended.catch(() => undefined);
  // The worker's part.
  while (!isRun) {
    const [row] = await door.store.asAccount(door.accountId, (tx) =>
      tx.db
        .selectFrom('bulk_export')
        .select('id')
        .where('status', '=', 'running')
        .execute(),
    );
    if (row === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    const of = { accountId: door.accountId, exportId: row.id };
    await runnerOf().listPatients(of);
    expect(await runnerOf().writeSlices(of)).toMatchObject({
      state: 'completed',
    });
    isRun = true;
  }
  expect((await ended).stdout).toBe('2 Zebra disease\n');
  await expect(run('mdx_wrong')).rejects.toMatchObject({ code: 1 });
});
