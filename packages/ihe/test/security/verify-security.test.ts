import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { IheError } from '../../src/ihe-error.ts';
import type { Credentials } from '../../src/security/credentials.ts';
import type { SamlAssertion } from '../../src/security/read-assertion.ts';
import { SAML_ATTRIBUTES } from '../../src/security/saml-names.ts';
import {
  type VerifyOptions,
  verifySecurity,
} from '../../src/security/verify-security.ts';
import {
  type SecurityOptions,
  writeSecurity,
} from '../../src/security/write-security.ts';
import { readEnvelope } from '../../src/soap/read-envelope.ts';
import { newMessageId, writeEnvelope } from '../../src/soap/write-envelope.ts';
import { xml } from '../../src/xml/write-xml.ts';
import { makeNetwork } from '../support/certificates.ts';
import { STATEMENT } from '../support/statement.ts';

const { members } = makeNetwork('ours', 'other');
const ours = members.ours.credentials;
const NOW = new Date('2026-11-29T12:00:00Z');
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);

function signed(options: Partial<SecurityOptions> = {}): string {
  const security = writeSecurity(STATEMENT, {
    credentials: ours,
    now: NOW,
    ...options,
  });
  return writeEnvelope({
    action: 'urn:ihe:iti:2007:CrossGatewayQuery',
    messageId: newMessageId(),
    to: 'https://gateway.test/',
    headers: [security],
    body: xml`<m/>`,
  });
}

async function verify(
  envelope: string,
  options: Partial<VerifyOptions> = {},
): Promise<SamlAssertion> {
  return verifySecurity(
    await readEnvelope(Buffer.from(envelope), 'application/soap+xml'),
    { clientCertificate: ours.certificate, now: NOW, ...options },
  );
}

async function refusal(
  envelope: string,
  options: Partial<VerifyOptions> = {},
): Promise<string> {
  try {
    await verify(envelope, options);
  } catch (error) {
    if (!(error instanceof IheError)) throw error;
    expect(error.message).not.toContain('Mallory');
    return error.code;
  }
  return 'verified';
}

/** Replaces what must be there. */
function changed(envelope: string, from: string | RegExp, to: string): string {
  const other = envelope.replace(from, to);
  expect(other).not.toBe(envelope);
  return other;
}

const find = (envelope: string, pattern: RegExp): string => {
  const [found] = pattern.exec(envelope) ?? [];
  if (found === undefined) throw new Error(`${pattern} was not found.`);
  return found;
};
const ASSERTION = /<saml2:Assertion.*<\/saml2:Assertion>/s;
const TIMESTAMP = /<wsu:Timestamp.*<\/wsu:Timestamp>/s;
const SIGNATURE = /<ds:Signature.*?<\/ds:Signature>/s;
const TIMESTAMP_SIGNATURE =
  /(?<=<\/saml2:Assertion>)<ds:Signature.*<\/ds:Signature>/s;

describe('a signed request', () => {
  test('says who asks, on whose behalf and what for', async () => {
    const assertion = await verify(signed());
    expect(assertion).toMatchObject({
      issuer: 'CN=ours,O=Clinic,ST=MA,C=US',
      subject: 'CN=ours,O=Clinic,ST=MA,C=US',
      confirmations: ['holder-of-key'],
    });
    expect(Object.fromEntries(assertion.attributes)).toEqual({
      [SAML_ATTRIBUTES.subjectId]: [STATEMENT.subject],
      [SAML_ATTRIBUTES.organization]: ['Clinic'],
      [SAML_ATTRIBUTES.organizationId]: ['urn:oid:2.999.1'],
      [SAML_ATTRIBUTES.homeCommunityId]: ['urn:oid:2.999.1'],
      [SAML_ATTRIBUTES.role]: [STATEMENT.role],
      [SAML_ATTRIBUTES.purpose]: [STATEMENT.purpose],
      [SAML_ATTRIBUTES.npi]: [STATEMENT.npi],
      [SAML_ATTRIBUTES.resourceId]: [STATEMENT.resourceId],
      [SAML_ATTRIBUTES.authorizedBy]: ['Organization/2.999.3'],
    });
  });

  test('can be in the style that a gateway asks for', async () => {
    const envelope = signed({
      nameId: { format: 'email', value: 'zoe@clinic.example' },
      issuer: { format: 'x509', value: 'C=US,O=Clinic' },
      nameFormat: 'uri',
    });
    expect(await verify(envelope)).toMatchObject({
      issuer: 'C=US,O=Clinic',
      subject: 'zoe@clinic.example',
    });
    expect(envelope).toContain('nameid-format:emailAddress');
    expect(envelope).toContain('attrname-format:uri');
  });

  test('is verified in whatever the sender writes around it', async () => {
    const other = changed(signed(), /soap:/g, 'S:')
      .replace(
        'xmlns:soap=',
        'xmlns="urn:other" xmlns:ds="urn:another" xmlns:S=',
      )
      .replace('<wsse:Security', '\r\n  <wsse:Security');
    expect(await refusal(other)).toBe('verified');
    const utf16 = Buffer.from(`\uFEFF${other}`, 'utf16le');
    const read = await readEnvelope(utf16, undefined);
    await verifySecurity(read, {
      clientCertificate: ours.certificate,
      now: NOW,
    });
  });

  test('may be five minutes off, both ways, and no more', async () => {
    const envelope = signed();
    for (const off of [-4.9, 0, 4.9])
      expect(await refusal(envelope, { now: minutes(off) })).toBe('verified');
    for (const off of [-5.1, 10.1, 60, 24 * 60])
      expect(await refusal(envelope, { now: minutes(off) })).toBe(
        'security.time',
      );
  });

  test('is known again by whoever remembers', async () => {
    const seen = new Set<string>();
    const isReplay: VerifyOptions['isReplay'] = ({ signature, until }) => {
      expect(until).toEqual(minutes(10));
      const isKnown = seen.has(signature);
      seen.add(signature);
      return isKnown;
    };
    const envelope = signed();
    expect(await refusal(envelope, { isReplay })).toBe('verified');
    expect(await refusal(envelope, { isReplay })).toBe('security.replay');
    expect(await refusal(signed(), { isReplay })).toBe('verified');
  });

  test('with SHA-1 is taken only by those who say so', async () => {
    const envelope = signed({ sha1: true });
    expect(await refusal(envelope)).toBe('security.algorithm');
    expect(await refusal(envelope, { takesSha1: true })).toBe('verified');
  });

  test('is read whole when a comment divides a value', async () => {
    const envelope = changed(
      signed(),
      'Clinic</saml2:Att',
      'Clin<!-- -->ic</saml2:Att',
    );
    const assertion = await verify(envelope);
    expect(assertion.attributes.get(SAML_ATTRIBUTES.organization)).toEqual([
      'Clinic',
    ]);
  });
});

test('a request that WSS4J signed, with prefixes in capitals, is verified', async () => {
  const source = readFileSync(new URL('wss4j-signed.xml', import.meta.url));
  const [base64 = ''] =
    /(?<=<ds:X509Certificate>)[^<]+/.exec(source.toString()) ?? [];
  const clientCertificate = new X509Certificate(Buffer.from(base64, 'base64'));
  const now = new Date('2026-11-29T12:59:55.052Z');
  const request = await readEnvelope(source, undefined);
  expect(
    await verifySecurity(request, { clientCertificate, now }),
  ).toMatchObject({ issuer: 'CN=wss4j' });
});

describe('a request is refused', () => {
  test.each<[string, (envelope: string) => string, string]>([
    [
      'a changed purpose',
      (each) => changed(each, 'TREATMENT', 'PAYMENT'),
      'security.signature',
    ],
    [
      'a changed subject',
      (each) => changed(each, 'Zoë', 'Mallory'),
      'security.signature',
    ],
    [
      'another value of the signature',
      (each) => changed(each, /(?<=<ds:SignatureValue>)..../, 'AAAA'),
      'security.signature',
    ],
    [
      'a later timestamp',
      (each) => changed(each, /(?<=<wsu:Created>)2026/, '2027'),
      'security.signature',
    ],
    [
      'a later end',
      (each) => changed(each, /(?<=<wsu:Expires>)2026/, '2027'),
      'security.signature',
    ],
    [
      'a longer assertion',
      (each) => changed(each, /(?<=NotOnOrAfter=")2026/, '2027'),
      'security.signature',
    ],
    [
      'another algorithm',
      (each) =>
        changed(each, /xmldsig-more#rsa-sha256/g, 'xmldsig-more#hmac-sha256'),
      'security.algorithm',
    ],
    [
      'another transformation',
      (each) =>
        changed(
          each,
          /(?<=<ds:Transform Algorithm=")[^"]*enveloped-signature/,
          'http://www.w3.org/TR/1999/REC-xslt-19991116',
        ),
      'security.algorithm',
    ],
    [
      'no Security',
      (each) => changed(each, /<wsse:Security.*<\/wsse:Security>/s, ''),
      'security.missing',
    ],
    [
      'no assertion',
      (each) => changed(each, ASSERTION, ''),
      'security.missing',
    ],
    [
      'no timestamp',
      (each) => changed(each, TIMESTAMP, ''),
      'security.missing',
    ],
    [
      'no signature of the timestamp',
      (each) => changed(each, TIMESTAMP_SIGNATURE, ''),
      'security.missing',
    ],
    [
      'no signature of the assertion',
      (each) =>
        changed(
          each,
          /(?<=<\/saml2:Issuer>)<ds:Signature.*?<\/ds:Signature>/s,
          '',
        ),
      'security.missing',
    ],
    [
      'two assertions',
      (each) => changed(each, ASSERTION, '$&$&'),
      'security.missing',
    ],
  ])('for %s', async (_, change, code) => {
    expect(await refusal(change(signed()))).toBe(code);
  });

  test('when the signed assertion is elsewhere, and a forged one in its place', async () => {
    const envelope = signed();
    const original = find(envelope, ASSERTION);
    const forged = original.replace('Zoë', 'Mallory');
    const renamed = forged.replace(/ ID="[^"]+"/, ' ID="_forged"');
    const wrapped = [
      // Both have the id that is signed.
      envelope
        .replace(original, forged)
        .replace('<m', `<wrap>${original}</wrap><m`),
      // Only the hidden one has it.
      envelope
        .replace(original, renamed)
        .replace('<m', `<wrap>${original}</wrap><m`),
      // What the forged one's signature signs is hidden elsewhere.
      envelope
        .replace(original, renamed)
        .replace('<m', `<wrap>${original.replace(SIGNATURE, '')}</wrap><m`),
      // The signed one is within the forged one's signature.
      envelope.replace(
        original,
        renamed.replace(
          '</ds:Signature>',
          `<ds:Object>${original}</ds:Object></ds:Signature>`,
        ),
      ),
      // The forged one is within the signed one.
      envelope.replace(
        original,
        original.replace('<saml2:Subject>', `${renamed}<saml2:Subject>`),
      ),
    ];
    for (const each of wrapped)
      expect(await refusal(each)).toBe('security.signature');
  });

  test('when the signature is over another element than the timestamp', async () => {
    const envelope = signed();
    const original = find(envelope, TIMESTAMP);
    const id = find(original, /TS-[^"]+/);
    const later = original.replaceAll('2026', '2027');
    expect(
      await refusal(
        envelope
          .replace(original, later.replace(id, 'TS-forged'))
          .replace('<m', `<wrap>${original}</wrap><m`),
      ),
    ).toBe('security.missing');
    expect(
      await refusal(
        envelope
          .replace(original, later)
          .replace('<m', `<wrap>${original}</wrap><m`),
      ),
    ).toBe('security.signature');
    // The id of the timestamp is that of another element.
    expect(
      await refusal(
        envelope
          .replace(original, later)
          .replace('<wsa:To', `<wsa:To Id="${id}"`),
      ),
    ).toBe('security.signature');
  });

  test('when it would take long to find its signatures wrong', async () => {
    const envelope = signed();
    const reference = find(envelope, /<ds:Reference.*?<\/ds:Reference>/s);
    const many = envelope.replace(reference, reference.repeat(11));
    await expect(verify(many)).rejects.toThrow('over too many elements');
    for (const filler of ['<x a="b"/>', '<!-- -->', '<?x?>'])
      expect(
        await refusal(envelope.replace('<m', `${filler.repeat(10_000)}<m`)),
      ).toBe('too-large');
  });

  test('when the assertion is of another key', async () => {
    const other = members.other.credentials;
    const mixed: Credentials = {
      certificate: other.certificate,
      privateKey: ours.privateKey,
    };
    expect(await refusal(signed({ credentials: other }))).toBe(
      'security.signature',
    );
    // Signed with the key of TLS, for the holder of another one.
    expect(await refusal(signed({ credentials: mixed }))).toBe('security.key');
    expect(
      await refusal(signed(), { clientCertificate: other.certificate }),
    ).toBe('security.signature');
  });
});

const hasXmlsec1 = spawnSync('xmlsec1', ['--version']).status === 0;
describe.skipIf(!hasXmlsec1)(
  `xmlsec1${hasXmlsec1 ? '' : ' (skipped: apt-get install xmlsec1)'}`,
  () => {
    test.each([
      [
        'assertion',
        'ID',
        'urn:oasis:names:tc:SAML:2.0:assertion:Assertion',
        '//*[local-name()="Assertion"]/*[local-name()="Signature"]',
      ],
      [
        'timestamp',
        'Id',
        'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd:Timestamp',
        '//*[local-name()="Security"]/*[local-name()="Signature"]',
      ],
    ])(
      'verifies the signature of the %s, and refuses a changed one',
      (_, id, element, path) => {
        const envelope = signed();
        const folder = mkdtempSync(join(tmpdir(), 'ihe-xmlsec1-'));
        const isVerified = (text: string): boolean => {
          writeFileSync(join(folder, 'message.xml'), text);
          writeFileSync(join(folder, 'crt.pem'), members.ours.certificate);
          const { status } = spawnSync('xmlsec1', [
            '--verify',
            '--pubkey-cert-pem',
            join(folder, 'crt.pem'),
            `--id-attr:${id}`,
            element,
            '--node-xpath',
            path,
            join(folder, 'message.xml'),
          ]);
          return status === 0;
        };
        try {
          expect(isVerified(envelope)).toBe(true);
          const other = envelope
            .replace('TREATMENT', 'PAYMENT')
            .replace('<wsu:Expires>2026', '<wsu:Expires>2027');
          expect(isVerified(other)).toBe(false);
        } finally {
          rmSync(folder, { recursive: true });
        }
      },
    );
  },
);
