import { rm } from 'node:fs/promises';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { checkSource } from '../../src/exchange/sources/connectors/check-source.ts';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import { resolveSourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { createHapi, type HapiServer, hapiMissing } from './hapi-server.ts';
import { startProxy } from './proxy.ts';

const missing = hapiMissing();
const never = new AbortController().signal;
const CANDIDATE =
  'The source also returned 1 Patient that may be this patient, which is not certain. Nothing of these was collected: they are on the list of candidates (npm run admin -- candidates list), for a person to decide';

/**
 * HAPI's MDM module is the one `Patient/$match` (PDQm ITI-119) that we did not
 * write.
 */
describe.skipIf(missing !== undefined)('HAPI FHIR 8.8 with $match', () => {
  let folder: string;
  let hapi: HapiServer;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    folder = await makeTestFolder();
    hapi = await createHapi(folder, { has: 'match' });
    await hapi.start();
    proxy = await startProxy(hapi.port);
    await hapi.call('PUT', 'Patient/p1', adaAtSource);
    const namesake = {
      ...adaAtSource,
      id: 'p2',
      address: [{ postalCode: '90210' }],
    };
    await hapi.call('PUT', 'Patient/p2', namesake);
    for (const id of ['p1', 'p2'])
      await hapi.call('PUT', `Observation/of-${id}`, {
        resourceType: 'Observation',
        id: `of-${id}`,
        status: 'final',
        code: { text: 'x' },
        subject: { reference: `Patient/${id}` },
      });
  });
  afterAll(async () => {
    await proxy?.stop();
    await hapi?.stop();
    if (folder !== undefined)
      await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    proxy.answer(() => undefined);
    proxy.asked.length = 0;
  });

  const config = () =>
    ({
      source: 'hie',
      baseUrl: proxy.baseUrl,
      auth: { kind: 'none' },
    }) as const;
  const asked = (what: string) =>
    proxy.asked.filter((path) => path.includes(what)).length;

  async function collect() {
    const begun = await createFhirConnector(config()).begin(ada, {}, never);
    const names: string[] = [];
    if (begun.kind !== 'ready') throw new Error(`HAPI answered ${begun.kind}`);
    for await (const { resources } of begun.pages)
      names.push(
        ...resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
      );
    return { names: names.sort(), notice: begun.notice };
  }

  test('is asked by it, and of two that it calls certain only the one who is proven to be ours is taken', async () => {
    const { names, notice } = await collect();
    expect(names).toEqual(['Observation/of-p1', 'Patient/p1']);
    expect(notice).toBe(CANDIDATE);
    expect([asked('$match'), asked('_search')]).toEqual([1, 0]);
  });

  test('is searched when it fails, and the timeline gets the reason', async () => {
    proxy.answer((path) =>
      path.includes('$match') ? { status: 500, code: 'exception' } : undefined,
    );
    const { names, notice } = await collect();
    expect(names).toEqual(['Observation/of-p1', 'Patient/p1']);
    expect(notice).toBe(
      `hie answered 500 (exception) to Patient/$match; the patient was searched for instead. ${CANDIDATE}`,
    );
  });

  test('is described by a check in words', async () => {
    const findings = await checkSource(
      resolveSourceConfig(config()),
      { sign: async () => '' },
      ada,
    );
    expect(findings.map(({ message }) => message)).toEqual([
      'requests carry none',
      'the server speaks FHIR 4.0.1; it has Patient/$match (IHE PDQm), Patient/$everything',
      `the source knows this patient (1 record); ${CANDIDATE}`,
    ]);
  });
});
