import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type DirectIdentity,
  openMail,
  protectMail,
  speaksFor,
  writeMail,
} from '#direct';
import {
  type TestAuthority,
  testAuthority,
} from '../../packages/direct/test/support/identities.ts';
import { createDirectTrust } from '../../src/exchange/messaging/messages/direct/direct-trust.ts';
import { mailboxSettingsSchema } from '../../src/exchange/messaging/messages/direct/mailbox-settings.ts';
import { readRevocationFaults } from '../../src/exchange/messaging/messages/direct/revocation-fault-store.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let server: Server;
let address: string;
let authority: TestAuthority;
let lost: DirectIdentity;
let kept: DirectIdentity;
/** What the authority's server answers. */
let published: { status: number; bytes: Buffer };
let asked: number;

beforeAll(async () => {
  gateway = await createTestGateway();
  server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(published.status).end(published.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list.crl`;
  authority = testAuthority();
  const identity = (name: string) =>
    authority.identity(
      name,
      `DNS:direct.${name}.example\ncrlDistributionPoints=URI:${address}`,
    );
  lost = identity('lost');
  kept = identity('kept');
});
afterAll(async () => {
  await gateway.close();
  server.close();
});
beforeEach(async () => {
  asked = 0;
  published = { status: 200, bytes: authority.revocationList('lost') };
  await gateway.store.asSystem((tx) =>
    tx.db.deleteFrom('revocation_fault').execute(),
  );
});

const newTrust = (allowLoopback = true) =>
  createDirectTrust({
    store: gateway.store,
    destinations: { allowLoopback },
    dnsServers: [],
  });

/** Whether somebody is written to, and believed. */
async function trusts(
  { certificate }: DirectIdentity,
  trust = newTrust(),
): Promise<[written: boolean, believed: boolean]> {
  const who = certificate === lost.certificate ? lost : kept;
  const from = `dr@direct.${who === lost ? 'lost' : 'kept'}.example`;
  expect(speaksFor(certificate, from)).toBe(true);
  const mailbox = {
    settings: mailboxSettingsSchema.parse({
      address: 'records@direct.ours.example',
      smtp: 'smtps://mail.example',
      imap: 'imaps://mail.example',
    }),
    smime: {
      certificate: '',
      privateKey: '',
      anchors: authority.anchor.toString(),
      recipients: certificate.toString(),
    },
  };
  const head = {
    messageId: 'm1@direct.example',
    from,
    to: ['records@direct.ours.example'],
    sentAt: new Date(),
  };
  const mail = await writeMail({ ...head, subject: 'Hello', text: 'Good day' });
  const bytes = await protectMail(mail, who, [certificate], head);
  // Without a usable file it is looked up, where nobody answers here.
  const written = await trust.certificatesFor(mailbox, from).catch(() => []);
  const believed = await trust.signerFor(
    mailbox,
    from,
    await openMail(bytes, [who]),
  );

  return [written.length > 0, believed !== undefined];
}

test('a revoked certificate is neither written to nor believed, and others of its authority are; the list is read once', async () => {
  const trust = newTrust();

  expect(await trusts(lost, trust)).toEqual([false, false]);
  expect(await trusts(kept, trust)).toEqual([true, true]);
  expect(asked).toBe(1);
  expect(await readRevocationFaults(gateway.store)).toEqual([]);
});

test.each([
  ['is away', () => ({ status: 503, bytes: Buffer.alloc(0) }), /answers 503/],
  [
    'is a web page',
    () => ({ status: 200, bytes: Buffer.from('<html></html>') }),
    /no revocation list/,
  ],
  [
    'is of another authority',
    () => ({ status: 200, bytes: testAuthority().revocationList() }),
    /not signed by the authority/,
  ],
  [
    'is endless',
    () => ({ status: 200, bytes: Buffer.alloc(6_000_000, 0x30) }),
    /more than 5000000 bytes/,
  ],
])(
  'where a list %s, certificates are used, and operators are told until it is there again',
  async (_how, answer, fault) => {
    const whole = published;
    published = answer();

    expect(await trusts(lost)).toEqual([true, true]);
    expect(asked).toBe(1);
    expect(await readRevocationFaults(gateway.store)).toMatchObject([
      { address, fault: expect.stringMatching(fault) },
    ]);

    published = whole;
    expect(await trusts(lost)).toEqual([false, false]);
    expect(await readRevocationFaults(gateway.store)).toEqual([]);
  },
);

test('a certificate cannot have an address of an inside asked', async () => {
  expect(await trusts(kept, newTrust(false))).toEqual([true, true]);

  expect(asked).toBe(0);
  expect(await readRevocationFaults(gateway.store)).toMatchObject([
    { fault: expect.stringContaining('of this machine') },
  ]);
});
