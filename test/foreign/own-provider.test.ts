import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { testAuthority } from '../../packages/direct/test/support/identities.ts';
import { createDirectTransports } from '../../src/exchange/messaging/messages/direct/direct-transports.ts';
import { createDirectTrust } from '../../src/exchange/messaging/messages/direct/direct-trust.ts';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import {
  createTransmission,
  type Transmission,
} from '../../src/exchange/messaging/messages/transmission.ts';
import {
  type MailSystem,
  startMailSystem,
} from '../../tools/simulator/mail/mail-system.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  directTrust,
  giveMailbox,
  MAIL_LOGIN,
} from '../support/mail-system.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';
import {
  type Publisher,
  publishersMissing,
  startNsd,
  startSlapd,
} from './publishers.ts';

const missing = publishersMissing();
if (missing !== undefined)
  process.stdout.write(`nsd and slapd are not tested against: ${missing}.\n`);

const OURS = 'records@direct.ours.example';
/** The simulator says nothing for it. */
const IN_DNS = 'silent@direct.dns.example';
const IN_DNS_BY_NAME = 'dr.jones@direct.dns.example';
const IN_LDAP = 'silent@direct.ldap.example';
const IN_LDAP_BY_NAME = 'dr.jones@direct.ldap.example';

describe.skipIf(missing !== undefined)(
  'an account that is its own provider',
  () => {
    const authority = testAuthority();
    const others = testAuthority();
    authority.identity('ours', 'DNS:direct.ours.example');
    const inDns = authority.identity('dns', 'DNS:direct.dns.example');
    const jonesInDns = authority.identity(
      'jones-dns',
      `email:${IN_DNS_BY_NAME}`,
    );
    const inLdap = authority.identity('ldap', 'DNS:direct.ldap.example');
    const jonesInLdap = authority.identity(
      'jones-ldap',
      `email:${IN_LDAP_BY_NAME}`,
    );
    // Of the right names, by nobody whom we trust: enough for TCP.
    const strangers = ['one', 'two', 'three'].map(
      (name) =>
        others.identity(name, 'DNS:direct.dns.example,DNS:direct.ldap.example')
          .certificate,
    );

    let nsd: Publisher;
    let slapd: Publisher;
    let mails: MailSystem;
    let gateway: TestGateway;
    let account: TestAccount;
    let transmission: Transmission;
    let patientId: string;

    beforeAll(async () => {
      slapd = await startSlapd({
        [IN_LDAP_BY_NAME]: [...strangers, jonesInLdap.certificate],
        'direct.ldap.example': [inLdap.certificate],
      });
      nsd = await startNsd(
        {
          'direct.dns.example': [...strangers, inDns.certificate],
          'dr.jones.direct.dns.example': [jonesInDns.certificate],
          'direct.ldap.example': strangers,
        },
        { 'direct.ldap.example': slapd.port },
      );
      mails = await startMailSystem({ login: MAIL_LOGIN });
      gateway = await createTestGateway();
      account = await gateway.addAccount({
        settings: { messages: { directAddresses: [OURS] } },
      });
      await giveMailbox(
        gateway.store,
        account.accountId,
        mails,
        {},
        {
          ...MAIL_LOGIN,
          smime: {
            certificate: file('ours.pem'),
            privateKey: file('ours.key'),
            anchors: file('anchor.pem'),
          },
        },
      );
      transmission = transmissionOf(directTrust(gateway, [nameServer()]));
      const created = await account.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        newPerson(),
      );
      patientId = created.json().id;
    });
    afterAll(async () => {
      await gateway?.close();
      await mails?.close();
      await nsd?.[Symbol.asyncDispose]();
      await slapd?.[Symbol.asyncDispose]();
    });
    beforeEach(() => {
      mails.taken.length = 0;
      mails.inbox.empty();
    });

    const file = (name: string) =>
      readFileSync(join(authority.folder, name), 'utf8');
    const nameServer = () => ({ host: '127.0.0.1', port: nsd.port });
    const transmissionOf = (trust: ReturnType<typeof createDirectTrust>) =>
      createTransmission({
        ...gateway,
        directTransports: createDirectTransports(
          gateway.store,
          testKeyRing(),
          trust,
        ),
      });

    async function send(destination: string): Promise<string> {
      const sent = await account.call(
        'POST',
        `message?patientId=${patientId}`,
        {
          destination,
          subject: 'About the biopsy',
          body: 'Please see.',
        },
      );

      return sent.json().id;
    }

    function openssl(...args: string[]): string {
      return execFileSync('openssl', args, {
        cwd: authority.folder,
        encoding: 'latin1',
        stdio: 'pipe',
      });
    }

    /** Decrypts what was handed over, and verifies that we signed it. */
    function openedBy(name: string, bytes: Buffer): string {
      writeFileSync(join(authority.folder, 'sent.eml'), bytes);
      openssl(
        ...`smime -decrypt -in sent.eml -recip ${name}.pem -inkey ${name}.key -out sent.signed`.split(
          ' ',
        ),
      );

      return openssl(
        ...'smime -verify -in sent.signed -CAfile anchor.pem -purpose any -signer sent.signer'.split(
          ' ',
        ),
      );
    }

    test.each([
      [IN_DNS, 'dns', 'of the domain, in DNS, by TCP'],
      [IN_DNS_BY_NAME, 'jones-dns', 'of the address, in DNS'],
      [IN_LDAP, 'ldap', 'of the domain, in LDAP'],
      [IN_LDAP_BY_NAME, 'jones-ldap', 'of the address, in LDAP'],
    ])(
      'sends to %s under the certificate %s, %s; openssl reads it',
      async (to, name) => {
        const messageId = await send(to);
        await expect(
          transmission.transmit({ accountId: account.accountId, messageId }),
        ).resolves.toEqual({ state: 'waiting' });

        const [{ bytes } = nothing()] = mails.taken;
        expect(bytes.toString()).not.toContain('biopsy');
        expect(openedBy(name, bytes)).toContain('About the biopsy');
        expect(file('sent.signer')).toContain(file('ours.pem').trim());
      },
    );

    test('reaches no LDAP server of an inside, and waits', async () => {
      const guarded = createDirectTrust({
        store: gateway.store,
        destinations: { allowLoopback: false },
        dnsServers: [nameServer()],
      });
      const messageId = await send(IN_LDAP);

      await expect(
        transmissionOf(guarded).transmit({
          accountId: account.accountId,
          messageId,
        }),
      ).rejects.toThrow('the LDAP server of the domain does not answer');
      expect(mails.taken).toEqual([]);
    });

    test('takes what openssl signs and encrypts, and answers under encryption', async () => {
      const subject = `Discharge ${uuidv7()}`;
      writeFileSync(
        join(authority.folder, 'letter.eml'),
        [
          'Content-Type: message/rfc822',
          '',
          `From: ${IN_DNS}`,
          `To: ${OURS}`,
          `Message-ID: <${uuidv7()}@direct.dns.example>`,
          `Subject: ${subject}`,
          'Content-Type: text/plain',
          '',
          'Please read.',
          '',
        ].join('\r\n'),
      );
      openssl(
        ...'smime -sign -md sha256 -in letter.eml -signer dns.pem -inkey dns.key -out letter.signed'.split(
          ' ',
        ),
      );
      openssl(
        ...`smime -encrypt -aes256 -in letter.signed -from ${IN_DNS} -to ${OURS} -out letter.smime ours.pem`.split(
          ' ',
        ),
      );
      mails.inbox.deliver(readFileSync(join(authority.folder, 'letter.smime')));

      const read = await createMailboxReader({
        ...gateway,
        keyRing: testKeyRing(),
        idHmacKey: TEST_ID_HMAC_KEY,
        directTrust: directTrust(gateway, [nameServer()]),
        arrivals: { tell: () => undefined },
        messages: { receiptArrived: () => undefined },
      }).read(account.accountId);

      expect(read).toMatchObject({ received: 1, ignored: 0 });
      const { messages } = (
        await account.call('GET', 'message?direction=inbound')
      ).json();
      expect(messages).toMatchObject([{ subject }]);
      const [{ bytes } = nothing()] = mails.taken;
      expect(openedBy('dns', bytes)).toMatch(/Disposition:.*processed/);
    });
  },
);

function nothing(): never {
  throw new Error('nothing was taken');
}
