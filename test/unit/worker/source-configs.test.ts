import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.ts';
import { SOURCE_VARIABLES, sourceConfigs } from '../../../src/worker/source-configs.ts';

const base = {
  HIE_BASE_URL: 'https://hie.example.org/fhir/',
  PHARMACY_BASE_URL: 'https://pharmacy.example.org',
  LAB_BASE_URL: 'https://lab.example.org',
};
const configs = (env: Record<string, string>) =>
  sourceConfigs(readConfig(SOURCE_VARIABLES, { ...base, ...env }));

test('a source with nothing but an address is asked without a login and only polled', () => {
  expect(configs({}).hie).toEqual({
    source: 'hie',
    baseUrl: 'https://hie.example.org/fhir',
    auth: { kind: 'none' },
    allowedOrigins: [],
    ownBaseUrls: [],
    tokenOrigins: [],
    callbacks: false,
    callsPerSecond: 50,
    pageSize: 200,
    pageBytesMax: 20_000_000,
    documentBytesMax: 200_000_000,
    requestTimeoutMs: 30_000,
    incremental: true,
    fullAfterDays: 7,
  });
});

test('a bearer token, client credentials, further origins and callbacks come from the configuration', () => {
  const { hie, lab } = configs({
    HIE_BEARER_TOKEN: 'token',
    HIE_ALLOWED_ORIGINS: 'https://files.example.org  https://more.example.org',
    HIE_TOKEN_ORIGINS: 'https://more.example.org',
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
  });
});

test('page size, bytes and time-outs belong to each source', () => {
  const { hie, lab } = configs({
    LAB_PAGE_SIZE: '50',
    LAB_PAGE_BYTES_MAX: '5000000',
    LAB_DOCUMENT_BYTES_MAX: '900000000',
    LAB_REQUEST_TIMEOUT_SECONDS: '120',
  });
  const limits = { pageSize: 50, pageBytesMax: 5_000_000, documentBytesMax: 900_000_000 };
  expect(lab).toMatchObject({ ...limits, requestTimeoutMs: 120_000 });
  expect(hie).toMatchObject({ pageSize: 200, requestTimeoutMs: 30_000 });
  expect(() => configs({ LAB_PAGE_SIZE: '0' })).toThrow(/LAB_PAGE_SIZE/);
});

test('whether changes are asked for, and how often everything is, belongs to each source', () => {
  const { hie, lab } = configs({ LAB_INCREMENTAL: 'false', LAB_FULL_AFTER_DAYS: '30' });
  expect(lab).toMatchObject({ incremental: false, fullAfterDays: 30 });
  expect(hie).toMatchObject({ incremental: true, fullAfterDays: 7 });
  expect(() => configs({ LAB_FULL_AFTER_DAYS: '91' })).toThrow(/LAB_FULL_AFTER_DAYS/);
});

test('half a set of client credentials is a fault of the configuration, and no secret is quoted', () => {
  const incomplete = () => configs({ LAB_CLIENT_ID: 'id', LAB_CLIENT_SECRET: 'very-secret' });
  expect(incomplete).toThrow(ConfigError);
  expect(incomplete).toThrow(/LAB_TOKEN_URL, LAB_CLIENT_ID and LAB_CLIENT_SECRET/);
  expect(incomplete).not.toThrow(/very-secret/);
});

test('a key instead of a secret, a scope, mutual TLS and pins come from the configuration', () => {
  const pin = `sha256/${'A'.repeat(43)}=`;
  const { hie, lab } = configs({
    HIE_AUTH: 'smart-backend',
    HIE_CLIENT_ID: 'id',
    HIE_SCOPE: 'system/*.rs',
    HIE_TLS_CA: 'ca',
    HIE_TLS_CERT: 'cert',
    HIE_TLS_KEY: 'key',
    HIE_TLS_PINS: pin,
    LAB_AUTH: 'client-secret-post',
    LAB_TOKEN_URL: 'https://lab.example.org/token',
    LAB_CLIENT_ID: 'id',
    LAB_CLIENT_SECRET: 'secret',
  });
  expect(hie.auth).toEqual({ kind: 'smart-backend', clientId: 'id', scope: 'system/*.rs' });
  expect(hie.tls).toEqual({ ca: 'ca', cert: 'cert', key: 'key', pins: [pin] });
  expect(lab.auth).toMatchObject({ kind: 'client-credentials', secretIn: 'form' });
});

test.each([
  [{ HIE_AUTH: 'smart-backend' }, /HIE_CLIENT_ID is needed/],
  [{ HIE_AUTH: 'bearer' }, /HIE_BEARER_TOKEN is needed/],
  [{ HIE_AUTH: 'client-secret-post', HIE_CLIENT_ID: 'id' }, /belong together/],
  [{ HIE_TLS_KEY: 'very-secret' }, /HIE_TLS_CERT and HIE_TLS_KEY belong together/],
  [{ HIE_TLS_PINS: 'sha256/short' }, /sha256\/<base64>/],
])('%j is a fault of the configuration', (env, message) => {
  expect(() => configs(env as Record<string, string>)).toThrow(message);
});
