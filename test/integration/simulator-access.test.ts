import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SOURCE_NAMES } from '../../src/local-stack/simulator/protocol.ts';
import {
  askUrl,
  SIMULATOR_CREDENTIALS,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator({
    adminToken: 'admin-token-of-the-test',
  });
});
afterAll(() => simulator.close());

const grant = { grant_type: 'client_credentials' };
const { clientId, clientSecret } = SIMULATOR_CREDENTIALS.hie;

describe('access to a source', () => {
  test.each(SOURCE_NAMES)(
    '%s refuses a caller without a valid token, with an OperationOutcome',
    async (source) => {
      for (const token of [null, 'wrong', '9999999999999.nonce.signature']) {
        const answer = await simulator.ask(source, '/Observation?patient=1', {
          token,
        });
        expect(answer.status).toBe(401);
        expect(answer.json.resourceType).toBe('OperationOutcome');
        expect(answer.headers['www-authenticate']).toBe('Bearer');
      }
    },
  );

  test('gives a token for client credentials sent by HTTP Basic', async () => {
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    const answer = await askUrl(`${simulator.url}/hie/oauth/token`, {
      method: 'POST',
      headers: { authorization },
      form: grant,
    });
    expect(answer.json).toMatchObject({
      token_type: 'bearer',
      expires_in: 300,
    });
    const used = await simulator.ask('hie', '/Observation?patient=1', {
      token: answer.json.access_token,
    });
    expect(used.status).toBe(200);
  });

  test('refuses wrong client credentials and other grants in the words of OAuth 2', async () => {
    const url = `${simulator.url}/hie/oauth/token`;
    const wrong = { ...grant, client_id: clientId, client_secret: 'wrong' };
    expect(await askUrl(url, { method: 'POST', form: wrong })).toMatchObject({
      status: 401,
      json: { error: 'invalid_client' },
    });
    expect(
      await askUrl(url, { method: 'POST', form: { grant_type: 'password' } }),
    ).toMatchObject({
      status: 400,
      json: { error: 'unsupported_grant_type' },
    });
  });

  test('keeps a token valid over a restart of the simulator', async () => {
    const before = await startTestSimulator();
    const form = { ...grant, client_id: clientId, client_secret: clientSecret };
    const token = (
      await askUrl(`${before.url}/hie/oauth/token`, { method: 'POST', form })
    ).json.access_token;
    await before.close();
    expect(
      (await simulator.ask('hie', '/Observation?patient=1', { token })).status,
    ).toBe(200);
  });

  test('asks for the admin token where one is set', async () => {
    expect((await askUrl(`${simulator.url}/admin/requests`)).status).toBe(401);
    expect(await simulator.admin.requests()).toBeInstanceOf(Array);
  });
});

describe('what a source says about itself', () => {
  test('lists the operations it serves and where tokens are issued, to anyone', async () => {
    const { json } = await simulator.ask('hie', '/metadata', { token: null });
    expect(json).toMatchObject({
      resourceType: 'CapabilityStatement',
      fhirVersion: '4.0.1',
    });
    const [rest] = json.rest;
    const patient = rest.resource.find(
      ({ type }: { type: string }) => type === 'Patient',
    );
    expect(patient.operation.map(({ name }: { name: string }) => name)).toEqual(
      ['match', 'everything'],
    );
    const tokenUrl = rest.security.extension[0].extension[0].valueUri;
    expect(tokenUrl).toBe(`${simulator.url}/hie/oauth/token`);
    const smart = await simulator.ask(
      'hie',
      '/.well-known/smart-configuration',
      { token: null },
    );
    expect(smart.json.token_endpoint).toBe(tokenUrl);
  });

  test('does not name, nor serve, what a setting turned off', async () => {
    const { json } = await simulator.ask('lab', '/metadata');
    expect(json.rest[0].resource[0].operation).toEqual([]);
    expect((await simulator.ask('lab', '/Patient/1/$everything')).status).toBe(
      404,
    );
    expect(
      (
        await simulator.ask('lab', '/Patient/$match', {
          method: 'POST',
          json: {},
        })
      ).status,
    ).toBe(404);
    await simulator.admin.changeSettings({ lab: { metadata: false } });
    expect((await simulator.ask('lab', '/metadata')).status).toBe(404);
  });
});
