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
    tokenOrigins: [],
    callbacks: false,
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

test('half a set of client credentials is a fault of the configuration, and no secret is quoted', () => {
  const incomplete = () => configs({ LAB_CLIENT_ID: 'id', LAB_CLIENT_SECRET: 'very-secret' });
  expect(incomplete).toThrow(ConfigError);
  expect(incomplete).toThrow(/LAB_TOKEN_URL, LAB_CLIENT_ID and LAB_CLIENT_SECRET/);
  expect(incomplete).not.toThrow(/very-secret/);
});
