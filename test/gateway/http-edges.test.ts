import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorBodySchema } from '../../src/contract/errors.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
let port: number;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  const made = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  patientId = made.json().id;
  port = Number(
    new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 })).port,
  );
});
afterAll(() => gateway.close());

const call = (
  method: string,
  url: string,
  headers: Record<string, string> = {},
) =>
  gateway.app.inject({
    method: method as 'GET',
    url: url.replace('{patient}', patientId),
    headers: { 'x-api-key': account.apiKey, ...headers },
  });

test.each([
  ['GET', '/medical/v1/patient/{patient}'],
  ['GET', '/settings'],
  ['GET', '/medical/v1/webhook'],
  ['GET', '/medical/v1/patient/0191d2b4-0000-7000-8000-000000000001'],
  ['POST', '/medical/v1/cohort'],
  ['GET', '/fhir/R4/Observation?patient={patient}'],
  ['GET', '/fhir/R4/Observation?patient=x'],
])('no cache keeps what a caller is answered: %s %s', async (method, url) => {
  expect((await call(method, url)).headers['cache-control']).toBe('no-store');
  expect(
    (await call(method, url, { 'x-api-key': 'wrong' })).headers[
      'cache-control'
    ],
  ).toBe('no-store');
});

describe('a method', () => {
  test.each([
    ['OPTIONS', '/medical/v1/patient/{patient}', 'GET, HEAD, PUT, DELETE'],
    ['PATCH', '/medical/v1/patient/{patient}/', 'GET, HEAD, PUT, DELETE'],
    ['PUT', '/medical/v1/cohort', 'GET, HEAD, POST'],
    ['QUERY', '/medical/v1/cohort/{patient}', 'GET, HEAD, PATCH, PUT, DELETE'],
    ['DELETE', '/settings', 'GET, HEAD, POST'],
    ['POST', '/medical/v1/document/downloadUrl', 'GET, HEAD'],
    ['GET', '/medical/v1/token/embed', 'POST'],
    ['GET', '/links/bulk-upload/x', 'PUT'],
    ['GET', '/links/document-upload/x', 'PUT'],
    ['PUT', '/medical/v1/patient/match', 'POST'],
    ['GET', '/medical/v1/patient/match/', 'POST'],
    ['DELETE', '/medical/v1/patient/bulk', 'GET, HEAD, POST'],
    ['PUT', '/medical/v1/patient/external-id', 'GET, HEAD'],
    ['PATCH', '/medical/v1/patient/bulk', 'GET, HEAD, POST'],
  ])(
    '%s that %s does not know is told which it knows',
    async (method, url, allow) => {
      const answer = await call(method, url);
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, allow]);
      expect(errorBodySchema.parse(answer.json()).detail).toBe(
        `This path supports only ${allow}`,
      );
    },
  );

  test('a method that the path does not know is a 405 whatever the body is', async () => {
    for (const url of ['/medical/v1/patient/bulk', '/fhir/R4/metadata']) {
      const headers = {
        'x-api-key': account.apiKey,
        'content-type': 'application/xml',
      };
      const answer = await gateway.app.inject({
        method: 'PUT',
        url,
        headers,
        payload: '<x/>',
      });
      expect([url, answer.statusCode]).toEqual([url, 405]);
    }
  });

  test('HEAD is answered as GET, without a body, and needs a key too', async () => {
    const get = await call('GET', '/medical/v1/cohort');
    const head = await call('HEAD', '/medical/v1/cohort');
    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    expect(
      (await call('HEAD', '/medical/v1/cohort', { 'x-api-key': 'wrong' }))
        .statusCode,
    ).toBe(401);
  });
});

describe('an address', () => {
  test('may have a slash at its end, and an id in upper case or percent-encoded', async () => {
    const encoded = `%${patientId.charCodeAt(0).toString(16)}${patientId.slice(1)}`;
    for (const id of [`${patientId}/`, patientId.toUpperCase(), encoded]) {
      const answer = await call('GET', `/medical/v1/patient/${id}`);
      expect([answer.statusCode, answer.json().id]).toEqual([200, patientId]);
    }
  });

  test.each([
    ['/medical/v1/unknown', 404, 'There is no operation at this path'],
    [
      '/medical/v1//patient/{patient}',
      404,
      'There is no operation at this path',
    ],
    ['/Medical/v1/cohort', 404, 'There is no operation at this path'],
    ['/medical/v2/cohort', 404, 'There is no operation at this path'],
    ['/medical/v1/patient/%zz', 400, 'The URL is not valid'],
    ['/medical/v1/patient/..%2Fcohort', 400, 'expected a UUID'],
    [
      `/medical/v1/patient/${'a'.repeat(300)}`,
      400,
      'A path segment of the URL is too long',
    ],
    [
      '/medical/v1/patient?count=1&count=2',
      400,
      'count: is given 2 times; give it once',
    ],
    [
      '/medical/v1/document?patientId={patient}&patientId=x',
      400,
      'patientId: is given 2 times',
    ],
    [
      `/medical/v1/patient?externalId=${'x'.repeat(201)}`,
      400,
      'externalId: must have at most 200 characters',
    ],
    ['/medical/v1/patient?externalId=a%00b', 400, 'a NUL character'],
  ])('%s is %d', async (url, status, detail) => {
    const answer = await call('GET', url.replace('{patient}', patientId));
    expect([
      answer.statusCode,
      errorBodySchema.parse(answer.json()).status,
    ]).toEqual([status, status]);
    expect(answer.json().detail).toContain(detail);
    expect(answer.headers['x-request-id']).toBe(
      answer.json().instance.replace('urn:uuid:', ''),
    );
  });
});

/** Sends it as it is, and reads until the gateway closes. */
const raw = (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (part) => {
      answer += part;
    });
    socket.on('close', () => resolve(answer)).on('error', reject);
  });

describe('what is no request', () => {
  test.each([
    [
      'an address of 20 kB',
      `GET /medical/v1/patient?filters=${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      431,
    ],
    [
      'headers of 20 kB',
      `GET /health HTTP/1.1\r\nhost: x\r\nx-large: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['a line that is no HTTP', 'HELLO\r\n\r\n', 400],
    [
      'two lengths',
      'GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
    ],
  ])('%s is answered by a problem document', async (_what, text, status) => {
    const [head = '', body = ''] = (await raw(text)).split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(head).toContain('content-type: application/problem+json');
    expect(errorBodySchema.parse(JSON.parse(body))).toMatchObject({ status });
  });
});
