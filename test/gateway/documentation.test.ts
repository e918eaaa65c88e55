import { createConfig, lintFromString } from '@redocly/openapi-core';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Endpoint, errorStatusesOf } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { webhookEventSchema } from '../../src/contract/events.ts';
import { WEBHOOK_EVENT_TYPES } from '../../src/contract/webhooks.ts';
import { EXAMPLES } from '../../src/exchange/platform/http/openapi/examples.ts';
import { pauseConnection } from '../../src/exchange/sources/health/source-health.ts';
import {
  createTestGateway,
  newPerson,
  type TestGateway,
} from '../support/gateway.ts';

interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, OpenApiOperation>>;
  webhooks: Record<
    string,
    { post: { requestBody: { content: Record<string, WebhookContent> } } }
  >;
  components: {
    schemas: Record<string, OpenApiSchema>;
    securitySchemes: object;
  };
}

interface WebhookContent {
  schema: { $ref: string };
  example: unknown;
}

interface OpenApiSchema {
  examples?: { type?: string }[];
  properties: Record<string, { anyOf: { type: string }[] }>;
}

interface OpenApiOperation {
  operationId: string;
  'x-codeSamples': [{ source: string }];
  security: unknown;
  responses: Record<
    string,
    { content?: Record<string, { example?: unknown }> }
  >;
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
    for (const [name, endpoint] of Object.entries(endpoints) as [
      EndpointName,
      Endpoint,
    ][]) {
      const path = endpoint.path.replaceAll(/:(\w+)/g, '{$1}');
      const operation = document.paths[path]?.[endpoint.method.toLowerCase()];
      expect(operation?.operationId, path).toBe(name);
      expect(operation?.security).toEqual([{ apiKey: [] }]);
      const statuses = [
        ...Object.keys(endpoint.responses),
        ...errorStatusesOf(endpoint).map(String),
      ];
      expect(Object.keys(operation?.responses ?? {}).sort()).toEqual(
        statuses.sort(),
      );
    }
  });

  test('lists no operation that does not exist', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of Object.keys(operations)) {
        const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
        expect(
          gateway.app.hasRoute({ method: method.toUpperCase(), url }),
          `${method} ${path}`,
        ).toBe(true);
      }
    }
  });

  test('has no reference that leads nowhere, and no schema that nothing refers to', () => {
    const text = JSON.stringify(document);
    const references = new Set(
      [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(
        (match) => match[1],
      ),
    );
    expect([...references].sort()).toEqual(
      Object.keys(document.components.schemas).sort(),
    );
  });

  test.each(Object.keys(endpoints) as EndpointName[])(
    'shows a valid request and answer for %s',
    (name) => {
      const { params, query, body, method, path, responses }: Endpoint =
        endpoints[name];
      const example = EXAMPLES[name];
      expect(params?.parse(example.params ?? {}) ?? {}).toEqual(
        example.params ?? {},
      );
      const sent = Object.entries(example.query ?? {}).map(([key, value]) => [
        key,
        String(value),
      ]);
      query?.parse(Object.fromEntries(sent));
      body?.parse(example.body);
      expect(example.body === undefined || body !== undefined).toBe(true);
      const [[status, answerSchema] = []] = Object.entries(responses);
      if (answerSchema === null) expect(example.answer).toBeUndefined();
      else expect(answerSchema?.parse(example.answer)).toEqual(example.answer);

      const shown =
        document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[
          method.toLowerCase()
        ];
      expect(shown?.['x-codeSamples'][0].source).toContain(
        `curl -X ${method} 'https://exchange.test.example.org/medical/v1/`,
      );
      const [answer] = Object.values(
        shown?.responses[status ?? '']?.content ?? {},
      );
      expect(answer?.example).toEqual(example.answer);
    },
  );

  test('describes every webhook with its schema and an event that fits it', () => {
    const types = [...WEBHOOK_EVENT_TYPES, 'ping', 'webhook.test'];
    expect(Object.keys(document.webhooks).sort()).toEqual(types.sort());
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      const { schema, example } =
        post.requestBody.content['application/json'] ?? expect.fail(type);
      expect(webhookEventSchema.parse(example)).toEqual(example);
      expect(example).toMatchObject({ meta: { type } });
      const name = schema.$ref.replace('#/components/schemas/', '');
      expect(JSON.stringify(document.components.schemas[name]), type).toContain(
        `"${type}"`,
      );
    }
  });

  test('shows both forms where a list or one value is accepted', () => {
    const { CreatePatient, NetworkQuerySources } = document.components.schemas;
    const typesOf = (schema?: { anyOf: { type: string }[] }) =>
      schema?.anyOf.map(({ type }) => type);
    expect(typesOf(CreatePatient?.properties.firstName)).toEqual([
      'string',
      'array',
    ]);
    expect(typesOf(NetworkQuerySources?.properties.sources)).toEqual([
      'object',
      'array',
    ]);
  });

  test("passes the recommended rules of Redocly's linter, so that no example has a wrong type", async () => {
    // The paths of bulk creates are the published ones: only a patient called
    // "bulk" would be ambiguous.
    const rules = { 'no-ambiguous-paths': 'off' } as const;
    const config = await createConfig({ extends: ['recommended'], rules });
    const problems = await lintFromString({
      source: JSON.stringify(document),
      config,
    });
    expect(
      problems.map(({ ruleId, message, location }) => [
        ruleId,
        message,
        location[0]?.pointer,
      ]),
    ).toEqual([]);
  });

  test('shows an error as a caller would get it', async () => {
    const account = await gateway.addAccount();
    const [example] = document.components.schemas.Error?.examples ?? [];
    const body = newPerson({
      address: [{ ...newPerson().address[0], zip: '2110' }],
    });
    const answer = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      body,
    );
    expect(answer.json()).toEqual({
      ...example,
      type: example?.type?.replace('exchange.', 'exchange.test.'),
      instance: expect.stringMatching(/^urn:uuid:/),
    });
  });

  test('is also served as a file of requests for editors', async () => {
    const { body, headers } = await gateway.app.inject('/requests.http');
    expect(headers['content-disposition']).toContain('requests.http');
    expect(body.match(/^### /gm)).toHaveLength(Object.keys(endpoints).length);
    expect(body).toContain(
      'POST {{baseUrl}}/medical/v1/cohort\nx-api-key: {{apiKey}}\ncontent-type',
    );
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
      {
        status: 'ready',
        database: 'up',
        temporal: 'down',
        sources: expect.any(Array),
      },
    ]);
    await halfUp.close();
  });

  test('says of the networks whether they are called, and nothing that only an operator may know', async () => {
    const asked = await createTestGateway();
    const connection = uuidv7();
    await asked.store.asSystem(async (tx) => {
      const pause = { by: 'Ada Lovelace', reason: 'the key of the clinic' };
      await pauseConnection(tx, 'lab', pause);
      await pauseConnection(tx, connection, pause);
    });
    const { body } = await asked.app.inject('/ready');
    expect(JSON.parse(body).sources).toEqual([
      { source: 'hie', state: 'ok' },
      { source: 'pharmacy', state: 'ok' },
      { source: 'lab', state: 'paused' },
    ]);
    expect(body).not.toMatch(new RegExp(`${connection}|Ada|clinic`));
    await asked.close();
  });

  test('is 503 without the database, and so is every operation, with Retry-After', async () => {
    const cut = await createTestGateway();
    const account = await cut.addAccount();
    const store = {
      ...cut.store,
      ping: () => Promise.reject(new Error('down')),
      asSystem: () =>
        Promise.reject(
          Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
        ),
    };
    const down = await createTestGateway({ store });
    expect((await down.app.inject('/ready')).statusCode).toBe(503);
    const headers = { 'x-api-key': account.apiKey };
    const answer = await down.app.inject({
      url: '/medical/v1/facility',
      headers,
    });
    expect([answer.statusCode, answer.json().name]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
    ]);
    expect(answer.headers['retry-after']).toBeDefined();
    await Promise.all([cut.close(), down.close()]);
  });
});

describe('metrics', () => {
  test('measure by operation and never by address', async () => {
    await gateway.app.inject(
      '/medical/v1/patient/0198a000-0000-7000-8000-000000000000',
    );
    const metrics = (await gateway.app.inject('/metrics')).body;
    expect(metrics).toContain(
      'http_request_duration_seconds_count{process="gateway",operation="getPatient"',
    );
    expect(metrics).not.toContain('0198a000');
  });
});
