import { expect, test } from 'vitest';
import {
  InvalidConnection,
  settingsOf,
} from '../../../../src/exchange/sources/connections/connection-options.ts';
import { checkGateway } from '../../../../src/exchange/sources/connectors/ihe/check-gateway.ts';
import { iheSettingsSchema } from '../../../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { resolveSourceConfig } from '../../../../src/exchange/sources/connectors/source-config.ts';
import {
  ADA,
  ADAS_DEMOGRAPHICS,
  GATEWAY_COMMUNITY,
  holding,
  matchFor,
  OUR_COMMUNITY,
  startRespondingGateway,
} from '../../../support/responding-gateway.ts';

const REQUIRED = {
  queryUrl: 'https://gateway.example/query',
  retrieveUrl: 'https://gateway.example/retrieve',
  homeCommunity: '2.999.1',
  ownHomeCommunity: 'urn:oid:2.999.2',
};

test('the options of a gateway become settings, and a later change keeps the rest', () => {
  const created = settingsOf({
    protocol: 'ihe',
    ...REQUIRED,
    documentsPerRetrieval: '2',
    sha1: 'true',
    otherCommunities: '2.999.3|https://a.example/q|https://a.example/r',
  });
  expect(created.ihe).toMatchObject({
    ...REQUIRED,
    answers: 'direct',
    documentsPerRetrieval: 2,
    sha1: true,
    otherCommunities: [{ homeCommunity: '2.999.3' }],
  });
  const changed = settingsOf(
    { sha1: 'default', queryDates: 'service' },
    created,
  );
  expect(changed.ihe).toMatchObject({
    ...REQUIRED,
    documentsPerRetrieval: 2,
    queryDates: 'service',
    sha1: false,
  });
});

test('settings of a gateway are refused where they are missing, wrong or for FHIR', () => {
  expect(() => settingsOf({ protocol: 'ihe' })).toThrow(/ihe.queryUrl/);
  expect(() =>
    settingsOf({ protocol: 'ihe', ...REQUIRED, homeCommunity: 'x' }),
  ).toThrow(/must be an OID/);
  expect(() => settingsOf({ sha1: 'true' })).toThrow(InvalidConnection);
  expect(settingsOf({}).ihe).toBeUndefined();
  const base = { source: 'hie', baseUrl: 'https://gateway.example' } as const;
  const ihe = iheSettingsSchema.parse(REQUIRED);
  expect(() =>
    resolveSourceConfig({
      ...base,
      ihe,
      auth: { kind: 'bearer', token: 'secret' },
    }),
  ).toThrow(/must be saml or none/);
});

test('a check names what works, and what is wrong, of a gateway', async () => {
  const gateway = await startRespondingGateway({
    discover: ({ criteria }) => ({
      patients: criteria.names[0]?.family[0] === 'Check' ? [] : [matchFor(ADA)],
    }),
    ...holding([{ uniqueId: '1.2.3', bytes: Buffer.from('a') }]),
  });
  try {
    const config = {
      source: 'hie',
      baseUrl: `${gateway.url}/discovery`,
      auth: { kind: 'none' },
    } as const;
    const settings = iheSettingsSchema.parse({
      queryUrl: `${gateway.url}/query`,
      retrieveUrl: `${gateway.url}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
    });
    const found = await checkGateway(config, settings, ADAS_DEMOGRAPHICS);
    expect(found.map(({ what, works }) => [what, works])).toEqual([
      ['certificate', true],
      ['patient', true],
      ['clock', true],
      ['community', true],
      ['documents', true],
    ]);
    expect(found.at(-1)?.message).toContain('lists 1 document of this patient');
    const other = { ...settings, homeCommunity: '2.999.1' };
    const findings = await checkGateway(config, other, undefined);
    expect(findings.filter(({ works }) => !works)).toMatchObject([
      {
        what: 'community',
        message: expect.stringContaining('--home-community'),
      },
    ]);
  } finally {
    await gateway.close();
  }
});
