import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Endpoint, errorStatusesOf } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { REQUEST_EXAMPLES } from '../../src/exchange/platform/http/openapi/examples.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, { operationId: string; security: unknown; responses: object }>>;
  components: { schemas: Record<string, unknown>; securitySchemes: object };
}

let gateway: TestGateway;
let document: OpenApi;
beforeAll(async () => {
  gateway = await createTestGateway();
  document = (await gateway.app.inject('/openapi.json')).json();
});
afterAll(() => gateway.close());

describe('the OpenAPI document', () => {
  test('lists every operation of the contract at its address, with its answers and errors', () => {
    expect(document.openapi).toBe('3.1.0');
    for (const [name, endpoint] of Object.entries(endpoints) as [EndpointName, Endpoint][]) {
      const path = endpoint.path.replaceAll(/:(\w+)/g, '{$1}');
      const operation = document.paths[path]?.[endpoint.method.toLowerCase()];
      expect(operation?.operationId, path).toBe(name);
      expect(operation?.security).toEqual([{ apiKey: [] }]);
      const statuses = [...Object.keys(endpoint.responses), ...errorStatusesOf(endpoint).map(String)];
      expect(Object.keys(operation?.responses ?? {}).sort()).toEqual(statuses.sort());
    }
  });

  test('lists no operation that does not exist', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of Object.keys(operations)) {
        const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
        expect(gateway.app.hasRoute({ method: method.toUpperCase(), url }), `${method} ${path}`).toBe(true);
      }
    }
  });

  test('has no reference that leads nowhere, and no schema that nothing refers to', () => {
    const text = JSON.stringify(document);
    const references = new Set([...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map((match) => match[1]));
    expect([...references].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  test('shows examples that the operations accept', () => {
    for (const [name, example] of Object.entries(REQUEST_EXAMPLES)) {
      const { body }: Endpoint = endpoints[name as EndpointName];
      expect(body?.safeParse(example), name).toMatchObject({ success: true });
    }
    expect(JSON.stringify(document.paths['/medical/v1/cohort'])).toContain('"example":{"name":"Diabetes');
  });
});

describe('the reference page', () => {
  test('is served with the scripts it needs and a policy that allows no others', async () => {
    const page = await gateway.app.inject('/reference/');
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-security-policy']).not.toContain("script-src 'unsafe-inline'");
    const scripts = [...page.body.matchAll(/src="\.?\/?([^"]+\.js)"/g)].map((match) => match[1] ?? '');
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      const path = script.startsWith('reference') ? `/${script}` : `/reference/${script}`;
      expect((await gateway.app.inject(path)).statusCode, script).toBe(200);
    }
  });
});

describe('health', () => {
  test('says that the process serves, whatever else is down', async () => {
    expect((await gateway.app.inject('/health')).statusCode).toBe(200);
  });

  test('says apart what is up; without Temporal it is ready still', async () => {
    const halfUp = await createTestGateway({
      pingTemporal: async () => {
        throw new Error('down');
      },
    });
    const ready = await halfUp.app.inject('/ready');
    expect([ready.statusCode, ready.json()]).toEqual([
      200,
      { status: 'ready', database: 'up', temporal: 'down' },
    ]);
    await halfUp.close();
  });

  test('is 503 without the database, and so is every operation, with Retry-After', async () => {
    const cut = await createTestGateway();
    const account = await cut.addAccount();
    const store = {
      ...cut.store,
      ping: () => Promise.reject(new Error('down')),
      asSystem: () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })),
    };
    const down = await createTestGateway({ store });
    expect((await down.app.inject('/ready')).statusCode).toBe(503);
    const headers = { 'x-api-key': account.apiKey };
    const answer = await down.app.inject({ url: '/medical/v1/facility', headers });
    expect([answer.statusCode, answer.json().name]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(answer.headers['retry-after']).toBeDefined();
    await Promise.all([cut.close(), down.close()]);
  });
});

describe('metrics', () => {
  test('measure by operation and never by address', async () => {
    await gateway.app.inject('/medical/v1/patient/0198a000-0000-7000-8000-000000000000');
    const metrics = (await gateway.app.inject('/metrics')).body;
    expect(metrics).toContain('http_request_duration_seconds_count{process="gateway",operation="getPatient"');
    expect(metrics).not.toContain('0198a000');
  });
});
