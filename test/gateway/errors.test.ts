import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import {
  ERROR_CODES,
  ERROR_KINDS,
  ERROR_NAMES,
  errorPagePath,
} from '../../src/contract/errors.ts';
import type { GatewayDeps } from '../../src/exchange/features.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const create = (body: unknown) =>
  account.call('POST', `patient?facilityId=${account.facilityId}`, body);

describe('an error', () => {
  test('is a problem document with the published members, and names the request', async () => {
    const answer = await account.call(
      'GET',
      'patient/0198a000-0000-7000-8000-000000000000',
    );
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toBe(
      'application/problem+json; charset=utf-8',
    );
    expect(answer.json()).toEqual({
      type: 'https://exchange.test.example.org/errors/not-found',
      code: 'not-found',
      status: 404,
      name: ERROR_NAMES[404],
      title: 'Not found',
      detail: 'Patient not found',
      instance: `urn:uuid:${answer.headers['x-request-id']}`,
    });
  });

  test('lists every mistake of a body with its path, what was found and what would be right', async () => {
    const answer = await create(
      newPerson({
        firstName: undefined,
        dob: '1980-02-30',
        address: {
          addressLine1: '1 Main',
          city: 'Boston',
          state: 'XX',
          zip: '2110',
        },
        contact: [{ phone: '617-555-0100' }, {}],
      }),
    );
    expect(answer.statusCode).toBe(400);
    const { title, detail, errors } = answer.json();
    expect(title).toBe('Missing or invalid parameters');
    const messages = Object.fromEntries(
      errors.map(({ path, message }: { path: string; message: string }) => [
        path,
        message,
      ]),
    );
    expect(Object.keys(messages).sort()).toEqual([
      'address[0].state',
      'address[0].zip',
      'contact[0].phone',
      'contact[1]',
      'dob',
      'firstName',
    ]);
    expect(messages['address[0].zip']).toContain(
      '4 digits; expected 5 digits or ZIP+4',
    );
    expect(detail).toContain(`address[0].zip: ${messages['address[0].zip']}`);
  });

  test('names the one character that no text may have', async () => {
    const texts = [
      newPerson({ externalId: 'a\u0000b' }),
      newPerson({ address: { ...newPerson().address[0], city: '\u0000' } }),
    ];
    for (const body of texts) {
      const { statusCode, json } = await create(body);
      expect([statusCode, json().detail]).toEqual([
        400,
        'A text in the request contains a NUL character',
      ]);
    }
    expect(
      (await account.call('GET', 'patient?externalId=a%00b')).statusCode,
    ).toBe(400);
  });

  test('reports a wrong source by the form that the caller meant', async () => {
    const answer = await create(
      newPerson({ networkQuery: { sources: { hie: { enabled: 'yes' } } } }),
    );
    expect(answer.statusCode).toBe(400);
    expect(answer.json().errors[0]).toEqual({
      path: 'networkQuery.sources.hie.enabled',
      message: 'expected boolean, received string',
    });
  });

  test.each([
    [
      'a missing query parameter',
      () => account.call('POST', 'patient', newPerson()),
      400,
      'facilityId is required',
    ],
    [
      'an id that is none',
      () => account.call('GET', 'patient/42'),
      400,
      'expected a UUID',
    ],
    ['broken JSON', () => create('{"firstName":'), 400, 'not valid JSON'],
    [
      'no body where one is needed',
      () => create(undefined),
      400,
      'a JSON body is required',
    ],
    [
      'an address without an operation',
      () => account.call('GET', 'unknown'),
      404,
      'no operation',
    ],
    [
      'a method that the address does not know',
      () => account.call('PUT', 'facility', {}),
      405,
      'GET',
    ],
  ])('tells %s', async (_what, send, status, part) => {
    const answer = await (send as () => ReturnType<typeof create>)();
    expect(answer.statusCode).toBe(status);
    expect(answer.json().detail).toContain(part);
  });

  test.each(['03/09/1984', '1984', 'zzzz'])(
    'reports %s as a date of birth once',
    async (dob) => {
      const answer = await create(newPerson({ dob }));
      expect(answer.json().errors).toEqual([
        {
          path: 'dob',
          message: `"${dob}" is not a date in the format YYYY-MM-DD`,
        },
      ]);
    },
  );

  test('says of a text that is too long that it is, and of a missing one that it is required', async () => {
    const messageOf = async (addressLine1: unknown) => {
      const address = { ...newPerson().address[0], addressLine1 };
      return (await create(newPerson({ address }))).json().errors[0].message;
    };
    expect(await messageOf('x'.repeat(201))).toBe(
      'must have at most 200 characters',
    );
    for (const missing of [undefined, '', ' '])
      expect(await messageOf(missing)).toBe('addressLine1 is required');
  });

  test.each([
    'patient?facilityId=',
    'patient/match',
    'facility',
    '/fhir/R4/Patient/$match',
  ])(
    'refuses text that is not UTF-8, of which no letter would be kept, at %s',
    async (path) => {
      const json = JSON.stringify({
        ...newPerson({ lastName: 'Núñez' }),
        resourceType: 'Patient',
        name: 'Año',
      });
      for (const contentType of [
        'application/json',
        'application/json; charset=iso-8859-1',
      ]) {
        const answer = await gateway.app.inject({
          method: 'POST',
          url: path.startsWith('/')
            ? path
            : `/medical/v1/${path.replace(/=$/, `=${account.facilityId}`)}`,
          headers: { 'x-api-key': account.apiKey, 'content-type': contentType },
          payload: Buffer.from(json, 'latin1'),
        });
        expect(answer.statusCode).toBe(400);
        expect(answer.body).toContain(
          'The body is not UTF-8; send JSON in UTF-8',
        );
      }
      expect(
        (await create(newPerson({ lastName: 'Núñez' }))).json().lastName,
      ).toEqual(['Núñez']);
    },
  );

  test('refuses a body that is too large, and one that is not JSON', async () => {
    expect(
      (await create(newPerson({ externalId: 'x'.repeat(300_000) }))).statusCode,
    ).toBe(413);
    const url = `/medical/v1/patient?facilityId=${account.facilityId}`;
    const headers = { 'x-api-key': account.apiKey, 'content-type': 'text/csv' };
    const csv = await gateway.app.inject({
      method: 'POST',
      url,
      headers,
      payload: 'a,b',
    });
    expect(csv.statusCode).toBe(415);
  });

  test('of ours reveals no internals, and is logged under the request id', async () => {
    const broken = await createTestGateway({
      networkQueries: {
        readQuery: async () => {
          throw new Error('secret inside');
        },
      } as unknown as GatewayDeps['networkQueries'],
    });
    const owner = await broken.addAccount();
    const answer = await owner.call(
      'GET',
      'network/query/0198a000-0000-7000-8000-000000000000',
    );
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('secret');
    const line =
      broken.logLines.find((text) => text.includes('request failed')) ?? '';
    expect(line).toContain('secret inside');
    expect(line).toContain(String(answer.headers['x-request-id']));
    await broken.close();
  });
});

describe('an empty body', () => {
  test.each([
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain; charset=utf-8',
  ])('is accepted where none is needed, also as %s', async (type) => {
    const headers = { 'content-type': type };
    const answer = await account.call(
      'POST',
      'settings/webhook/retry',
      undefined,
      headers,
    );
    expect(answer.statusCode).toBe(200);
  });
});

describe('the log', () => {
  test('holds neither addresses, queries, bodies nor keys', async () => {
    const person = newPerson({ externalId: 'mrn-778899' });
    await create(person);
    await create({ ...person, dob: 'mrn-778899' });
    const log = gateway.logLines.join('');
    expect(log).toContain('createPatient');
    for (const secret of [
      'mrn-778899',
      person.lastName,
      'facilityId=',
      account.apiKey,
    ]) {
      expect(log).not.toContain(secret);
    }
  });
});

describe('a kind of error', () => {
  test('has a page, which says what to do, at the address in `type`', async () => {
    for (const code of ERROR_CODES) {
      const { statusCode, body } = await gateway.app.inject(
        errorPagePath(code),
      );
      expect(statusCode, code).toBe(200);
      expect(body).toContain(`Status ${ERROR_KINDS[code].status}`);
    }
    const all = (await gateway.app.inject('/errors')).body;
    for (const code of ERROR_CODES) expect(all).toContain(`/errors/${code}"`);
    const unknown = await gateway.app.inject('/errors/toString');
    expect(unknown.statusCode).toBe(404);
  });

  test('is told by its code, which OpenAPI lists for each status', async () => {
    const { paths, components } = (
      await gateway.app.inject('/openapi.json')
    ).json();
    expect(
      components.schemas.Error.properties.code['x-extensible-enum'],
    ).toEqual(ERROR_CODES);
    expect(
      paths['/medical/v1/cohort'].post.responses['422'].description,
    ).toContain('idempotency-key-reused');
    for (const [code, send] of [
      ['invalid-credentials', () => gateway.app.inject('/medical/v1/facility')],
      ['no-such-operation', () => account.call('GET', 'unknown')],
      ['unreadable-request', () => create('{"firstName":')],
      ['invalid-parameters', () => create({})],
      ['method-not-allowed', () => account.call('PUT', 'facility', {})],
    ] as const)
      expect((await send()).json()).toMatchObject({
        code,
        type: `https://exchange.test.example.org/errors/${code}`,
      });
  });
});

test('the address of the gateway leads to what it offers, for programs and for people', async () => {
  const program = (await gateway.app.inject('/')).json();
  const { name, api, ...addresses } = program;
  expect([name, api]).toEqual([
    'Medical data exchange',
    'https://exchange.test.example.org/medical/v1',
  ]);
  const person = await gateway.app.inject({
    url: '/',
    headers: { accept: 'text/html' },
  });
  for (const address of Object.values<string>(addresses)) {
    expect(person.body).toContain(`href="${address}"`);
    const { pathname } = new URL(address);
    expect((await gateway.app.inject(pathname)).statusCode, address).toBe(200);
  }
});

test('the collection and llms.txt have every operation', async () => {
  const collection = (await gateway.app.inject('/collection.json')).json();
  const requests = collection.item.flatMap(
    ({ item }: { item: { name: string }[] }) => item.map(({ name }) => name),
  );
  const llms = (await gateway.app.inject('/llms.txt')).body;
  for (const [name, { summary }] of Object.entries(endpoints)) {
    expect(requests).toContain(summary);
    expect(llms).toContain(`/reference#${name})`);
  }
});
