import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SAML_ATTRIBUTES, type SamlAssertion, verifySecurity } from '#ihe';
import { createIheConnector } from '../../../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import {
  iheSettingsSchema,
  samlAuthSchema,
} from '../../../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { runCommand } from '../../../../src/lib/run-command.ts';
import {
  ADA,
  ADAS_DEMOGRAPHICS,
  GATEWAY_COMMUNITY,
  holding,
  matchFor,
  OUR_COMMUNITY,
  startRespondingGateway,
} from '../../../support/responding-gateway.ts';
import { makeTestFolder } from '../../../support/test-folder.ts';

async function credentials() {
  const folder = await makeTestFolder();
  const cert = join(folder, 'client.pem');
  const key = join(folder, 'client.key');
  const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=gateway.example -out ${cert} -keyout ${key}`;
  await runCommand('openssl', words.split(' '), { timeoutMs: 240_000 });
  return {
    cert: await readFile(cert, 'utf8'),
    key: await readFile(key, 'utf8'),
  };
}

test('each message says who asks, for which patient and why, signed anew by the key of the client certificate', async () => {
  const tls = await credentials();
  const clientCertificate = new X509Certificate(tls.cert);
  const assertions: SamlAssertion[] = [];
  const gateway = await startRespondingGateway({
    discover: () => ({ patients: [matchFor(ADA)] }),
    ...holding([
      { uniqueId: '1.2.3', bytes: Buffer.from('a'), mimeType: 'text/plain' },
    ]),
    intercept: async (envelope) => {
      assertions.push(await verifySecurity(envelope, { clientCertificate }));
      return false;
    },
  });
  onTestFinished(gateway.close);
  const connector = createIheConnector(
    {
      source: 'hie',
      baseUrl: `${gateway.url}/discovery`,
      tls,
      auth: samlAuthSchema.parse({
        kind: 'saml',
        organizationName: 'Our clinic',
        organizationId: OUR_COMMUNITY,
        samlSubject: 'The exchange',
        samlRole: '2.16.840.1.113883.6.96|106331006|Administrative personnel',
        samlPurpose: '2.16.840.1.113883.3.18.7.1|TREATMENT',
        npi: '1234567893',
      }),
    },
    iheSettingsSchema.parse({
      queryUrl: `${gateway.url}/query`,
      retrieveUrl: `${gateway.url}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
    }),
  );
  const { signal } = new AbortController();
  const begun = await connector.begin(ADAS_DEMOGRAPHICS, {}, signal);
  if (begun.kind !== 'ready') throw new Error('not ready');
  // It is good for two days.
  expect(begun.warnings).toEqual([
    {
      kind: 'certificate',
      message: expect.stringContaining('our client certificate ends on'),
    },
  ]);
  for await (const page of begun.pages) expect(page.skippedAttachments).toBe(0);

  expect(assertions).toHaveLength(3);
  expect(new Set(assertions.map(({ id }) => id)).size).toBe(3);
  const valuesOf = (name: string) =>
    assertions.map(({ attributes }) => attributes.get(name)?.[0]);
  expect(valuesOf(SAML_ATTRIBUTES.organizationId)[0]).toBe(
    `urn:oid:${OUR_COMMUNITY}`,
  );
  expect(valuesOf(SAML_ATTRIBUTES.purpose)[0]).toMatchObject({
    code: 'TREATMENT',
    codeSystem: '2.16.840.1.113883.3.18.7.1',
  });
  const [discovery, ...aboutPatient] = valuesOf(SAML_ATTRIBUTES.resourceId);
  expect(discovery).toBeUndefined();
  expect(new Set(aboutPatient).size).toBe(1);
  expect(aboutPatient[0]).toMatch(/^4711\^\^\^&/);
});
