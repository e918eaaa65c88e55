import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';

let door: FhirDoor;
let address: string;
let key: string;
let patientId: string;
beforeAll(async () => {
  const [sample] = samples;
  if (sample === undefined) throw new Error('there are no samples');
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  door = await createFhirDoor({ publicBaseUrl: address });
  await door.gateway.app.listen({ port, host: '127.0.0.1' });
  key = await door.addKey(door.accountId, ['read', 'write']);
  patientId = await door.addPatient(personOf(sample));
  const condition = {
    resourceType: 'Condition',
    id: 'c',
    subject: { reference: 'Patient/p' },
    code: { text: 'Zebra disease' },
    clinicalStatus: { coding: [{ code: 'active' }] },
  };
  await door.deliver(patientId, 'hie', [delivery('hie', condition)], ['p']);
});
afterAll(() => door.close());

const run = (file: string, of: string, KEY = key) =>
  promisify(execFile)(process.execPath, [`examples/${file}`, of], {
    env: {
      ...process.env,
      BASE: `${address}/fhir/R4`,
      API: `${address}/medical/v1`,
      KEY,
    },
  });

test('the example of the summary prints what is known, and tells that nothing was delivered from that nothing is known', async () => {
  const { stdout } = await run('patient-summary/print.mjs', patientId);
  expect(stdout).toMatch(/^Active problems: 1\n {4}Zebra disease$/m);
  expect(stdout).toMatch(/^Immunizations: (?:notasked|unavailable) \(.+\)$/m);
  expect(stdout).toMatch(/^incomplete: /m);
  await expect(
    run('patient-summary/print.mjs', uuidv7()),
  ).rejects.toMatchObject({ code: 1 });
});

test('the example of health links makes one, opens it once with its passcode, and not again', async () => {
  const { stdout } = await run('health-link/share.mjs', patientId);
  expect(stdout).toMatch(/^shlink:\//);
  expect(stdout).toMatch(/^with a wrong passcode: 401, 4 attempts are left$/m);
  expect(stdout).toMatch(/^opened: .+, \d+ sections$/m);
  expect(stdout).toMatch(/^opened again: 404/m);
  await expect(
    run('health-link/share.mjs', patientId, 'mdx_wrong'),
  ).rejects.toMatchObject({ code: 1 });
});
