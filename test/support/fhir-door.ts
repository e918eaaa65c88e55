import type { Bundle, FhirResource, OperationOutcome } from 'fhir/r4.js';
import { v7 as uuidv7 } from 'uuid';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import type { GatewayDeps } from '../../src/exchange/features.ts';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';
import { deliveriesOf, patientIdsOf, personOf } from './deliveries.ts';
import { createTestGateway, TEST_BASE_URL } from './gateway.ts';
import { createRecordEnvironment } from './record-environment.ts';

export const FHIR_BASE = `${TEST_BASE_URL}/fhir/R4`;

/**
 * A gateway on a database with delivered records, and a caller of its FHIR API.
 */
export async function createFhirDoor(overrides: Partial<GatewayDeps> = {}) {
  const environment = await createRecordEnvironment();
  const { store, accountId, blobs, records } = environment;
  const gateway = await createTestGateway({
    store,
    blobs,
    records,
    ...overrides,
  });

  async function addKey(
    account: string,
    scopes: ('read' | 'write')[] = ['read'],
  ): Promise<string> {
    const apiKey = generateApiKey();
    const parts = parseApiKey(apiKey);
    if (parts === undefined) throw new Error('not a key');
    await store.asSystem((tx) =>
      insertApiKey(tx, { id: uuidv7(), accountId: account, ...parts, scopes }),
    );
    return apiKey;
  }
  const apiKey = await addKey(accountId);

  const call = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    headers = {},
    payload?: string | object,
  ) =>
    gateway.app.inject({
      method,
      url: path.startsWith('http')
        ? path.slice(TEST_BASE_URL.length)
        : `/fhir/R4/${path}`,
      headers: { 'x-api-key': apiKey, ...headers },
      payload,
    });
  const get = (path: string, headers = {}) => call('GET', path, headers);

  return {
    ...environment,
    gateway,
    apiKey,
    addKey,
    call,
    get,
    async bundle(path: string, headers = {}): Promise<Bundle> {
      const response = await get(path, headers);
      if (response.statusCode !== 200)
        throw new Error(`${response.statusCode} ${response.body}`);
      return response.json();
    },
    /** All pages of a search. */
    async pages(path: string): Promise<Bundle[]> {
      const pages: Bundle[] = [];
      for (let next: string | undefined = path; next !== undefined; ) {
        const page: Bundle = (await get(next)).json();
        pages.push(page);
        next = page.link?.find(({ relation }) => relation === 'next')?.url;
      }
      return pages;
    },
    /** Delivers what the simulated sources have of a sample patient. */
    async addSample(sample: SamplePatient): Promise<string> {
      const patientId = await environment.addPatient(personOf(sample));
      for (const source of ['hie', 'lab', 'pharmacy'] as const) {
        const ids = patientIdsOf(sample).get(source) ?? [];
        await environment.deliver(
          patientId,
          source,
          deliveriesOf(sample, [source]),
          ids,
        );
      }
      return patientId;
    },
    async close() {
      await gateway.close();
      await environment.close();
    },
  };
}

export type FhirDoor = Awaited<ReturnType<typeof createFhirDoor>>;

export const inMode = (
  bundle: Bundle,
  mode: 'match' | 'include' | 'outcome',
): FhirResource[] =>
  (bundle.entry ?? []).flatMap(({ search, resource }) =>
    search?.mode === mode && resource !== undefined
      ? [resource as FhirResource]
      : [],
  );
export const idsIn = (bundles: readonly Bundle[]): string[] =>
  bundles.flatMap((bundle) =>
    inMode(bundle, 'match').map(({ id }) => String(id)),
  );
export const diagnosticsIn = ({ issue }: OperationOutcome): string =>
  issue.map(({ diagnostics }) => diagnostics).join('\n');
/** All resources of a Bundle, included ones too. */
export const resourcesIn = (bundle: Bundle): FhirResource[] =>
  (bundle.entry ?? []).flatMap(({ resource }) =>
    resource === undefined ? [] : [resource as FhirResource],
  );
