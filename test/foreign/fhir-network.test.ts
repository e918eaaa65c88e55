import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adaAtSource } from '../support/ada.ts';
import { connectToFhirNetwork } from '../support/fhir-network-member.ts';
import { createQueryEnvironment } from '../support/network-query-environment.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { createHapi, type HapiServer, hapiMissing } from './hapi-server.ts';

const missing = hapiMissing();

/** As a directory of FHIR servers has HAPI, in an entry of its own. */
const entryOf = (id: string, address: string) => ({
  resourceType: 'Organization',
  id,
  active: true,
  name: `Server ${id}`,
  address: [{ state: 'MA', postalCode: '02115' }],
  contained: [
    {
      resourceType: 'Endpoint',
      status: 'active',
      connectionType: { code: 'hl7-fhir-rest' },
      address,
    },
  ],
});

describe.skipIf(missing !== undefined)('HAPI FHIR 8.8 in a directory', () => {
  let folder: string;
  let hapi: HapiServer;
  let environment: Awaited<ReturnType<typeof createQueryEnvironment>>;
  beforeAll(async () => {
    folder = await makeTestFolder();
    hapi = await createHapi(folder);
    await hapi.start();
    environment = await createQueryEnvironment();
    await hapi.call('PUT', 'Patient/p1', adaAtSource);
    await hapi.call('PUT', 'Observation/o1', {
      resourceType: 'Observation',
      id: 'o1',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: 'Patient/p1' },
    });
  });
  afterAll(async () => {
    await environment?.close();
    await hapi?.stop();
    if (folder !== undefined)
      await rm(folder, { recursive: true, force: true });
  });

  test('is asked for the patient, collected from, and asked first the next time', async () => {
    const { newQuery, choice } = await connectToFhirNetwork(
      environment,
      { auth: { kind: 'none' }, tls: {} },
      [
        entryOf('2.999.1', hapi.baseUrl),
        entryOf('2.999.2', 'http://127.0.0.1:9/fhir'),
      ],
      // HAPI's first statement of its capabilities takes its time.
      { privateAddresses: true, discoveryTimeoutSeconds: 240 },
    );
    for (const because of ['near', 'known']) {
      const [first] = (await choice()).flatMap(({ chosen }) => chosen);
      expect(first).toMatchObject({ homeCommunity: '2.999.1', because });
      const query = await newQuery();
      await query.ask();
      expect(await query.collect()).toMatchObject({ state: 'waiting' });
      for (let again = 0; again < 3; again += 1) {
        await query.elapse();
        await query.collect();
      }
      expect(await query.states()).toEqual({
        '2.999.1': 'found',
        '2.999.2': expect.stringMatching(/^failed: /),
      });
      const { attempts, resources } = await query.outcome();
      expect(attempts).toMatchObject([{ status: 'completed' }]);
      expect(
        resources.map(({ source_id: id }) => id.split('~')[1]).sort(),
      ).toEqual(['o1', 'p1']);
    }
  });
});
