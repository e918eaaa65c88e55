import type { JWTPayload } from 'jose';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFhirConnector } from '../../src/exchange/sources/connectors/fhir-connector.ts';
import { registerByUdap } from '../../src/exchange/sources/connectors/http/auth/udap.ts';
import {
  type PurposeOfUse,
  resolveSourceConfig,
} from '../../src/exchange/sources/connectors/source-config.ts';
import type { UdapAuth } from '../../src/exchange/sources/connectors/source-settings.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { type Certificate, createAuthority } from '../support/authority.ts';
import { searchset, startFhirServer } from '../support/fhir-server.ts';
import { startUdapServer } from '../support/udap-server.ts';

const CLIENT = 'https://exchange.example.org/udap';
let community: Awaited<ReturnType<typeof createAuthority>>;
let udap: Awaited<ReturnType<typeof startUdapServer>>;
let fhir: Awaited<ReturnType<typeof startFhirServer>>;
let metadata: unknown;
let server: Certificate;
let auth: UdapAuth;

beforeAll(async () => {
  community = await createAuthority('community');
  const site = await community.issue('DNS:localhost');
  udap = await startUdapServer(site, community);
  fhir = await startFhirServer(site, {
    isActive: udap.isActive,
    udap: () => metadata,
    resources: {
      'Patient/$match': searchset(adaAtSource),
      'Patient/p1/$everything': searchset(),
    },
  });
  server = await community.issue(`URI:${fhir.baseUrl}`);
  metadata = await udap.metadata(fhir.baseUrl, server);
  auth = {
    kind: 'udap',
    ...(await community.issue(`URI:${CLIENT}`)),
    anchors: community.cert,
    scope: 'system/*.rs',
    clientName: 'Exchange',
    contact: 'mailto:operations@exchange.example.org',
    organizationId: 'https://exchange.example.org',
  };
});
afterAll(async () => {
  await Promise.all([udap.stop(), fhir.stop(), community.remove()]);
});

const configOf = (
  changes: Partial<UdapAuth> = {},
  purposeOfUse: PurposeOfUse = 'treatment',
) => ({
  source: 'hie' as const,
  baseUrl: fhir.baseUrl,
  auth: { ...auth, ...changes },
  tls: { ca: community.cert },
  purposeOfUse,
});
const register = (changes: Partial<UdapAuth> = {}) =>
  registerByUdap(
    resolveSourceConfig(configOf(changes)),
    { ...auth, ...changes },
    {
      dispatcher: new Agent({ connect: { ca: community.cert } }),
      now: Date.now,
    },
  );
const ask = (changes: Partial<UdapAuth>, purpose?: PurposeOfUse) =>
  createFhirConnector(configOf(changes, purpose))
    .begin(ada, {}, new AbortController().signal)
    .then(({ kind }) => kind);

describe('a source of a UDAP trust community', () => {
  test('registers us by a software statement, and again under the same client id', async () => {
    const clientId = await register();
    expect(udap.registrations.at(-1)).toMatchObject({
      iss: CLIENT,
      sub: CLIENT,
      aud: `${udap.url}/register`,
      client_name: 'Exchange',
      contacts: ['mailto:operations@exchange.example.org'],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      scope: 'system/*.rs',
    });
    expect(await register()).toBe(clientId);
  });

  test('is asked with a token for the purpose of the query: treatment, or individual access', async () => {
    const clientId = await register();
    for (const [purpose, code] of [
      ['treatment', 'urn:oid:2.16.840.1.113883.5.8#TREAT'],
      ['ias', 'urn:oid:2.16.840.1.113883.5.8#PATRQT'],
    ] as const) {
      expect(await ask({ clientId }, purpose)).toBe('ready');
      expect(udap.purposeOf(fhir.tokens.at(-1))).toBe(code);
    }
  });

  test('of TEFCA registers us for one purpose with its certification, and is asked for no other', async () => {
    const purpose = 'urn:oid:2.16.840.1.113883.3.7204.1.5.2.1#T-TRTMNT';
    const node = 'urn:oid:2.999.5#T-TRTMNT';
    const ours = {
      ...(await community.issue(
        `URI:${CLIENT},URI:urn:oid:2.999.5#T-HCO,URI:${node}`,
      )),
      purpose,
      homeCommunityId: '2.999.5',
      organizationName: 'Our clinic NPI 1234567893',
    };
    const clientId = await register(ours);
    expect(udap.registrations.at(-1)).toMatchObject({ iss: node, sub: node });
    expect(udap.certifications).toMatchObject([
      {
        iss: node,
        certification_name: 'TEFCA Basic App Certification',
        certification_uris: [
          'https://rce.sequoiaproject.org/udap/profiles/basic-app-certification',
        ],
        exchange_purposes: [purpose],
        home_community_id: 'urn:oid:2.999.5',
      },
    ]);
    expect(await ask({ ...ours, clientId })).toBe('ready');
    expect(udap.purposeOf(fhir.tokens.at(-1))).toBe(purpose);
    await expect(ask({ ...ours, clientId }, 'ias')).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('registered for T-TRTMNT'),
    });
    await expect(
      register({ ...ours, purpose: purpose.replace('T-TRTMNT', 'T-PH') }),
    ).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('ends in #T-PH'),
    });
  });

  test('without a purpose of its own registers us without a certification', async () => {
    await register();
    expect(udap.certifications).toEqual([]);
  });

  test('that refuses says why, and one without registration too', async () => {
    const clientId = await register();
    udap.refuse('invalid_scope');
    await expect(ask({ clientId })).rejects.toMatchObject({
      kind: 'denied',
      message:
        'hie answered 400 (invalid_scope: check the scope) to the token request',
    });
    udap.refuse(undefined);
    await expect(ask({})).rejects.toMatchObject({
      message: 'hie: the connection is not registered by UDAP yet',
    });
    const foreign = await createAuthority('foreign');
    await expect(
      register(await foreign.issue(`URI:${CLIENT}`)),
    ).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining(
        'invalid_software_statement: check the certificate',
      ),
    });
    await foreign.remove();
  });
});

describe('metadata of a server is not trusted, and nothing is sent,', () => {
  const refused = async (
    signedBy: Certificate,
    changes: JWTPayload,
    why: string,
  ) => {
    metadata = await udap.metadata(fhir.baseUrl, signedBy, changes);
    const count = udap.registrations.length;
    await expect(register()).rejects.toMatchObject({
      kind: 'denied',
      message: `hie is not trusted by its UDAP metadata: ${why}`,
    });
    expect(udap.registrations).toHaveLength(count);
  };

  test('if its certificate is not of the community', async () => {
    const foreign = await createAuthority('foreign');
    const stranger = await foreign.issue(`URI:${fhir.baseUrl}`);
    await refused(
      stranger,
      {},
      'its certificate does not lead to an anchor of the trust community',
    );
    await foreign.remove();
  });

  test('if it, or its certificate, is for another server', async () => {
    const other = 'https://other.example.org/fhir';
    await refused(
      server,
      { iss: other, sub: other },
      'it was signed for another server',
    );
    await refused(
      await community.issue(`URI:${other}`),
      {},
      'its certificate is for another server',
    );
  });

  test('if it has expired, is valid for more than a year, or names an endpoint without https', async () => {
    const now = Math.floor(Date.now() / 1_000);
    await refused(
      server,
      { iat: now - 7_200, exp: now - 3_600 },
      'its signature is not valid',
    );
    await refused(
      server,
      { exp: now + 2 * 366 * 24 * 3_600 },
      'it is valid for more than a year',
    );
    await refused(
      server,
      { token_endpoint: 'http://localhost/token' },
      'claims are missing',
    );
  });

  test('if another key signed it', async () => {
    const { key } = await community.issue(`URI:${fhir.baseUrl}`);
    await refused({ cert: server.cert, key }, {}, 'its signature is not valid');
  });
});
