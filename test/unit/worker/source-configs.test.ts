import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.ts';
import {
  SOURCE_VARIABLE_NAMES,
  sourceConfigs,
} from '../../../src/worker/exchange-service.ts';

const base = {
  HIE_BASE_URL: 'https://hie.example.org/fhir/',
  PHARMACY_BASE_URL: 'https://pharmacy.example.org',
  LAB_BASE_URL: 'https://lab.example.org',
};
const configs = async (env: Record<string, string>) =>
  sourceConfigs(readConfig(SOURCE_VARIABLE_NAMES, { ...base, ...env }));
const settings = (value: object): string => JSON.stringify(value);

test('a source with nothing but an address is asked without a login and only polled', async () => {
  expect((await configs({})).hie).toEqual({
    source: 'hie',
    baseUrl: 'https://hie.example.org/fhir',
    auth: { kind: 'none' },
    tls: {},
    purposeOfUse: 'treatment',
    allowedOrigins: [],
    ownBaseUrls: [],
    tokenOrigins: [],
    callbacks: false,
    callsPerSecond: 50,
    pageSize: 200,
    pageBytesMax: 20_000_000,
    documentBytesMax: 200_000_000,
    requestTimeoutSeconds: 30,
    incremental: true,
    fullAfterDays: 7,
  });
});

test('a bearer token, client credentials, further origins and callbacks come from the configuration', async () => {
  const { hie, lab } = await configs({
    HIE_BEARER_TOKEN: 'token',
    HIE_SETTINGS: settings({
      allowedOrigins: ['https://files.example.org', 'https://more.example.org'],
      tokenOrigins: ['https://more.example.org'],
    }),
    HIE_CALLBACK_SECRET: 'whsec_x',
    LAB_TOKEN_URL: 'https://lab.example.org/token',
    LAB_CLIENT_ID: 'id',
    LAB_CLIENT_SECRET: 'secret',
  });
  expect(hie).toMatchObject({
    auth: { kind: 'bearer', token: 'token' },
    allowedOrigins: ['https://files.example.org', 'https://more.example.org'],
    tokenOrigins: ['https://more.example.org'],
    callbacks: true,
  });
  expect(lab.auth).toEqual({
    kind: 'client-credentials',
    tokenUrl: 'https://lab.example.org/token',
    clientId: 'id',
    clientSecret: 'secret',
    secretIn: 'header',
  });
});

test('each source has settings of its own, by the names and in the units of connections', async () => {
  const limits = {
    pageSize: 50,
    pageBytesMax: 5_000_000,
    documentBytesMax: 900_000_000,
    requestTimeoutSeconds: 120,
    incremental: false,
    fullAfterDays: 30,
  };
  const { hie, lab } = await configs({ LAB_SETTINGS: settings(limits) });
  expect(lab).toMatchObject(limits);
  expect(hie).toMatchObject({
    pageSize: 200,
    requestTimeoutSeconds: 30,
    incremental: true,
  });
});

test('half a set of client credentials is a fault of the configuration, and no secret is quoted', async () => {
  const incomplete = configs({
    LAB_CLIENT_ID: 'id',
    LAB_CLIENT_SECRET: 'very-secret',
  });
  const error = await incomplete.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toMatch(/needs LAB_TOKEN_URL/);
  expect(String(error)).not.toMatch(/very-secret/);
});

test('a key instead of a secret, a scope, mutual TLS and pins come from the configuration', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'source-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pem = (name: string): string => {
    writeFileSync(join(folder, name), `${name}\n`);
    return join(folder, name);
  };
  const pin = `sha256/${'A'.repeat(43)}=`;
  const { hie, lab } = await configs({
    HIE_CLIENT_ID: 'id',
    HIE_SETTINGS: settings({
      auth: 'smart-backend',
      scope: 'system/*.rs',
      tlsPins: [pin],
      tlsCa: pem('ca'),
      tlsCert: pem('cert'),
      tlsKey: pem('key'),
    }),
    LAB_SETTINGS: settings({ auth: 'client-secret-post' }),
    LAB_TOKEN_URL: 'https://lab.example.org/token',
    LAB_CLIENT_ID: 'id',
    LAB_CLIENT_SECRET: 'secret',
  });
  expect(hie.auth).toEqual({
    kind: 'smart-backend',
    clientId: 'id',
    scope: 'system/*.rs',
  });
  expect(hie.tls).toEqual({ ca: 'ca', cert: 'cert', key: 'key', pins: [pin] });
  expect(lab.auth).toMatchObject({
    kind: 'client-credentials',
    secretIn: 'form',
  });
});

test.each([
  [
    { HIE_SETTINGS: settings({ auth: 'smart-backend' }) },
    /needs HIE_CLIENT_ID/,
  ],
  [{ HIE_SETTINGS: settings({ auth: 'bearer' }) }, /needs HIE_BEARER_TOKEN/],
  [
    {
      HIE_SETTINGS: settings({ auth: 'client-secret-post' }),
      HIE_CLIENT_ID: 'id',
    },
    /needs HIE_TOKEN_URL/,
  ],
  [
    { HIE_SETTINGS: settings({ tlsKey: '/dev/null' }) },
    /tlsCert and tlsKey belong together/,
  ],
  [
    { HIE_SETTINGS: settings({ tlsCa: '/nowhere' }) },
    /tlsCa: \/nowhere cannot be read/,
  ],
  [
    { HIE_SETTINGS: settings({ tlsPins: ['sha256/short'] }) },
    /sha256\/<base64>/,
  ],
  [{ LAB_SETTINGS: settings({ pageSize: 0 }) }, /LAB_SETTINGS.*pageSize/s],
  [
    { LAB_SETTINGS: settings({ fullAfterDays: 91 }) },
    /LAB_SETTINGS.*fullAfterDays/s,
  ],
  [{ LAB_SETTINGS: settings({ pagesize: 50 }) }, /LAB_SETTINGS.*"pagesize"/s],
  [{ LAB_SETTINGS: 'pageSize=50' }, /LAB_SETTINGS: must be a JSON object/],
  [{ LAB_PAGE_SIZE: '50' }, /LAB_PAGE_SIZE: is not a variable.*LAB_SETTINGS/s],
])('%j is a fault of the configuration', async (env, message) => {
  const error = await configs(env as Record<string, string>).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toMatch(message);
});
