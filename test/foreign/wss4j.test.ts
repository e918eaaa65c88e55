import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  newMessageId,
  readCredentials,
  readEnvelope,
  SAML_ATTRIBUTES,
  type SecurityOptions,
  verifySecurity,
  writeEnvelope,
  writeSecurity,
  xml,
} from '#ihe';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const PROJECT = fileURLToPath(new URL('wss4j', import.meta.url));
/** Some 20 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(
  new URL('../../.cache/wss4j-2.3.4', import.meta.url),
);
const missing = javaMissing(CACHE);
if (missing !== undefined)
  process.stdout.write(`WSS4J is not tested against: ${missing}.\n`);

const inMinutes = (count: number) => new Date(Date.now() + count * 60_000);

describe.skipIf(missing !== undefined)('WSS4J', () => {
  let folder: string;
  let pem: { certificate: string; privateKey: string };
  beforeAll(async () => {
    buildJava({ project: PROJECT, mainClass: 'WssTool', cache: CACHE });
    folder = await makeTestFolder();
    pem = makeCertificate();
    await writeFile(join(folder, 'certificate'), pem.certificate);
    await writeFile(join(folder, 'key'), pem.privateKey);
  });
  const java = (mode: string, file: string, input = '') =>
    execFileSync(
      'java',
      ['-cp', classPathOf(CACHE), 'WssTool', mode, join(folder, file)],
      { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] },
    )
      .trim()
      .split('\n');

  const signed = (options: Partial<SecurityOptions> = {}): string =>
    writeEnvelope({
      action: 'urn:ihe:iti:2007:CrossGatewayQuery',
      messageId: newMessageId(),
      headers: [
        writeSecurity(
          {
            subject: 'Zoë "Z" O’Hara & Søn',
            organization: 'Clinic',
            organizationId: '2.999.1',
            homeCommunityId: '2.999.1',
            role: { code: '46255001', codeSystem: '2.16.840.1.113883.6.96' },
            purpose: {
              code: 'TREATMENT',
              codeSystem: '2.16.840.1.113883.3.18.7.1',
            },
          },
          { credentials: readCredentials(pem), ...options },
        ),
      ],
      body: xml`<m/>`,
    });

  test('it verifies our header, and refuses a changed one, an old one and one from the future', () => {
    const messages = [
      signed(),
      signed({ sha1: true }),
      signed().replace('TREATMENT', 'PAYMENT'),
      signed().replace(/(?<=<wsu:Created>)20/, '19'),
      signed({ now: inMinutes(-60) }),
      signed({ now: inMinutes(30) }),
    ];
    const lines = messages.map((each) => Buffer.from(each).toString('base64'));
    expect(java('verify', 'certificate', lines.join('\n'))).toEqual([
      'VERIFIED CN=ours,O=Clinic,C=US',
      'VERIFIED CN=ours,O=Clinic,C=US',
      'REFUSED SAML signature validation failed',
      expect.stringMatching(/^REFUSED /),
      'REFUSED Invalid timestamp: The message timestamp has expired',
      'REFUSED Invalid timestamp: The message timestamp is out of range',
    ]);
  });

  test('we verify its header, and refuse a changed one and an old one', async () => {
    execFileSync('openssl', [
      'pkcs12',
      '-export',
      '-passout',
      'pass:password',
      '-in',
      join(folder, 'certificate'),
      '-inkey',
      join(folder, 'key'),
      '-out',
      join(folder, 'p12'),
    ]);
    const clientCertificate = new X509Certificate(pem.certificate);
    const messages = java('sign', 'p12').map((line) =>
      Buffer.from(line, 'base64'),
    );
    expect(messages).toHaveLength(2);
    for (const message of messages) {
      const request = await readEnvelope(message, undefined);
      const assertion = await verifySecurity(request, { clientCertificate });
      expect(assertion.attributes.get(SAML_ATTRIBUTES.organization)).toEqual([
        'Zoë & Co',
      ]);

      const now = inMinutes(24 * 60);
      await expect(
        verifySecurity(request, { clientCertificate, now }),
      ).rejects.toMatchObject({ code: 'security.time' });
      const changed = Buffer.from(message.toString().replace('Zoë', 'Zoe'));
      await expect(
        verifySecurity(await readEnvelope(changed, undefined), {
          clientCertificate,
        }),
      ).rejects.toMatchObject({ code: 'security.signature' });
    }
  });
});

/** A certificate that is its own authority, with an RSA key. */
function makeCertificate(): { certificate: string; privateKey: string } {
  const command =
    'req -x509 -days 2 -newkey rsa:2048 -nodes -subj /C=US/O=Clinic/CN=ours -keyout - -out -';
  const both = execFileSync('openssl', command.split(' '), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const at = both.indexOf('-----BEGIN CERTIFICATE');
  return { certificate: both.slice(at), privateKey: both.slice(0, at) };
}
