import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  buildFindDocuments,
  buildRetrieve,
  buildSubmission,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  newMessageId,
  readCredentials,
  readEnvelope,
  SAML_ATTRIBUTES,
  type SecurityOptions,
  SUBMISSION_ACTIONS,
  verifySecurity,
  writeEnvelope,
  writeSecurity,
  xml,
} from '#ihe';
import { createTestGateway, newPerson } from '../support/gateway.ts';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';
import {
  criteriaFor,
  discoveryOf,
  joinNetwork,
  makeNetworkOf,
  type NetworkMember,
  OUR_HOME,
  openTestRespondingGateway,
  postRaw,
  THEIR_HOME,
} from '../support/network-members.ts';
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
    await writeKeys(pem);
  });
  const java = (mode: string, file: string, input = '') =>
    execFileSync(
      'java',
      ['-cp', classPathOf(CACHE), 'WssTool', mode, join(folder, file)],
      { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] },
    )
      .trim()
      .split('\n');

  /** Has it sign with this key from now on. */
  async function writeKeys({
    certificate,
    privateKey,
  }: {
    certificate: string;
    privateKey: string;
  }): Promise<void> {
    await writeFile(join(folder, 'certificate'), certificate);
    await writeFile(join(folder, 'key'), privateKey);
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
  }

  /** Each envelope twice: with the key as numbers, and as a certificate. */
  const signedByIt = (...envelopes: string[]): Buffer[] =>
    java(
      'sign',
      'p12',
      envelopes.map((each) => Buffer.from(each).toString('base64')).join('\n'),
    ).map((line) => Buffer.from(line, 'base64'));

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
    await writeKeys(pem);
    const clientCertificate = new X509Certificate(pem.certificate);
    const messages = signedByIt(
      "<S:Envelope xmlns:S='http://www.w3.org/2003/05/soap-envelope' xmlns:unused='urn:unused'><S:Header/><S:Body><m/></S:Body></S:Envelope>",
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

  test('our port answers what it signed, by all transactions, and refuses it changed or on another connection', async () => {
    await using port = await openPort();
    const { members } = port.network;
    await writeKeys(members.theirs);
    const requests = [
      {
        action: DISCOVERY_ACTIONS.question,
        body: discoveryOf(criteriaFor(newPerson())),
      },
      {
        action: CROSS_GATEWAY_ACTIONS.query,
        body: buildFindDocuments({
          patient: { id: 'p1', authority: OUR_HOME },
          homeCommunity: OUR_HOME,
        }),
      },
      {
        action: CROSS_GATEWAY_ACTIONS.retrieve,
        body: buildRetrieve([
          { uniqueId: '2.25.1', repository: OUR_HOME, homeCommunity: OUR_HOME },
        ]),
      },
      { action: SUBMISSION_ACTIONS.submit, body: emptySubmission() },
    ];
    // Three of each: as it is, changed, and on the connection of another.
    const envelopes = [1, 2, 3].flatMap(() =>
      requests.map((each) =>
        writeEnvelope({ ...each, messageId: newMessageId() }),
      ),
    );
    // Of each, the one or the other of two ways to name the key.
    const messages = signedByIt(...envelopes).filter(
      (_, at) => at % 2 === Math.floor(at / 2) % 2,
    );

    const outcomes: string[] = [];
    for (const [at, message] of messages.entries()) {
      const round = Math.floor(at / requests.length);
      const changed = message.toString().replace('2.999.2<', '2.999.3<');
      const { status, subcode } = await port.post(
        round === 1 ? changed : message,
        round === 2 ? members.third : members.theirs,
      );
      outcomes.push(subcode ?? String(status));
    }

    expect(outcomes).toEqual([
      ...Array.from({ length: 4 }, () => '200'),
      ...Array.from({ length: 8 }, () => 'FailedCheck'),
    ]);
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

const emptySubmission = () =>
  buildSubmission({
    entryUuid: newMessageId(),
    uniqueId: '2.999.7.1',
    sourceId: THEIR_HOME,
    patientId: `p1^^^&${THEIR_HOME}&ISO`,
    submittedAt: new Date(),
    contentType: { code: '55188-7', system: undefined, display: undefined },
    documents: [],
  });

/** The port for gateways, as an account that is a member of a network has it. */
async function openPort() {
  const gateway = await createTestGateway();
  const { accountId } = await gateway.addAccount();
  const network = await makeNetworkOf('ours', 'theirs', 'third');
  const membership = await joinNetwork(gateway, accountId, network.authority);
  const port = await openTestRespondingGateway(gateway, network.members.ours);
  return {
    network,
    post: (message: string | Buffer, member: NetworkMember) =>
      postRaw(port.addressOf(membership), message, {
        trusted: network.authority,
        member,
      }),
    async [Symbol.asyncDispose]() {
      await port.close();
      await gateway.close();
    },
  };
}
