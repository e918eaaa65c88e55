import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openMail, protectMail, readCertificates, writeMail } from '#direct';
import {
  type TestAuthority,
  testAuthority,
} from '../../packages/direct/test/support/identities.ts';
import { mailboxSettingsSchema } from '../../src/exchange/messaging/messages/direct/mailbox-settings.ts';
import {
  findBundle,
  putBundle,
} from '../../src/exchange/messaging/messages/direct/trust-bundles/bundle-store.ts';
import { readBundleTroubles } from '../../src/exchange/messaging/messages/direct/trust-bundles/bundle-troubles.ts';
import { refreshBundle } from '../../src/exchange/messaging/messages/direct/trust-bundles/refresh-bundle.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { directTrust } from '../support/mail-system.ts';
import { runAdminOn } from '../support/run-admin.ts';

const CLINIC = 'dr.jones@direct.clinic.example';

const clinics = testAuthority();
const others = testAuthority();
const clinic = clinics.identity('clinic', 'DNS:direct.clinic.example');
const publisher = others.identity('publisher', 'DNS:bundles.example');

let gateway: TestGateway;
let server: Server;
let origin: string;
/** What the publisher's server answers. */
let published: { status: number; bytes: Buffer };

beforeAll(async () => {
  gateway = await createTestGateway();
  server = createServer((_request, response) =>
    response.writeHead(published.status).end(published.bytes),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bundle.p7b`;
});
afterAll(async () => {
  await gateway.close();
  server.close();
});
beforeEach(async () => {
  published = { status: 200, bytes: bundleOf(clinics, others) };
  await put(null);
  await refresh();
});

const put = (signedBy: string | null) =>
  gateway.store.asSystem((tx) =>
    putBundle(tx, { name: 'partners', origin, refreshHours: 24, signedBy }),
  );
const refresh = () =>
  refreshBundle(gateway.store, 'partners', new AbortController().signal);
const stored = () => gateway.store.asSystem((tx) => findBundle(tx, 'partners'));

const openssl = (line: string) =>
  execFileSync('openssl', line.split(' '), {
    cwd: others.folder,
    stdio: 'pipe',
  });

/** A bundle, as openssl makes it. */
function bundleOf(...authorities: Pick<TestAuthority, 'anchor'>[]): Buffer {
  writeFileSync(
    join(others.folder, 'anchors.pem'),
    authorities.map(({ anchor }) => anchor.toString()).join(''),
  );
  openssl(
    'crl2pkcs7 -nocrl -certfile anchors.pem -outform DER -out bundle.p7b',
  );
  return readFileSync(join(others.folder, 'bundle.p7b'));
}

function signed(bundle: Buffer): Buffer {
  writeFileSync(join(others.folder, 'unsigned.p7b'), bundle);
  openssl(
    'cms -sign -binary -nodetach -md sha256 -in unsigned.p7b -signer publisher.pem -inkey publisher.key -outform DER -out bundle.p7m',
  );
  return readFileSync(join(others.folder, 'bundle.p7m'));
}

const mailbox = {
  settings: mailboxSettingsSchema.parse({
    address: 'records@direct.ours.example',
    smtp: 'smtps://mail.example',
    imap: 'imaps://mail.example',
    bundles: ['partners'],
  }),
  smime: {
    certificate: '',
    privateKey: '',
    recipients: readFileSync(join(clinics.folder, 'clinic.pem'), 'utf8'),
  },
};

/** Whether the clinic is written to, and believed. */
async function trustsClinic(): Promise<[written: boolean, believed: boolean]> {
  const trust = directTrust(gateway);
  const head = {
    messageId: 'm1@direct.clinic.example',
    from: CLINIC,
    to: ['records@direct.ours.example'],
    sentAt: new Date(),
  };
  const mail = await writeMail({ ...head, subject: 'Hello', text: 'Good day' });
  const bytes = await protectMail(mail, clinic, [publisher.certificate], head);
  const opened = await openMail(bytes, [publisher]);
  const recipients = await trust
    .certificatesFor(mailbox, CLINIC)
    .catch(() => []);

  return [
    recipients.length > 0,
    (await trust.signerFor(mailbox, CLINIC, opened)) !== undefined,
  ];
}

test('whom a bundle has is trusted both ways, and no longer when it has them no more', async () => {
  expect(await trustsClinic()).toEqual([true, true]);

  published.bytes = bundleOf(others);
  expect(await refresh()).toEqual({
    read: 1,
    anchors: 1,
    added: 0,
    removed: 1,
    refused: 0,
  });
  expect(await trustsClinic()).toEqual([false, false]);
});

test.each([
  [
    'is away',
    { status: 503, bytes: Buffer.alloc(0) },
    'the server answers 503',
  ],
  [
    'is a web page',
    { status: 200, bytes: Buffer.from('<html>Maintenance</html>') },
    'it is no trust bundle',
  ],
  [
    'breaks off',
    { status: 200, bytes: bundleOf(clinics, others).subarray(0, 900) },
    'it is no trust bundle',
  ],
  [
    'has become very large',
    { status: 200, bytes: Buffer.alloc(6_000_000) },
    'it has more than 5000000 bytes',
  ],
])(
  'a bundle that %s keeps its last anchors, and operators are told',
  async (_how, answer, fault) => {
    published = answer;
    await expect(refresh()).rejects.toThrow(fault);

    expect(await trustsClinic()).toEqual([true, true]);
    expect(await stored()).toMatchObject({
      fault: expect.stringContaining(fault),
      counts: { anchors: 2 },
    });
    expect(await readBundleTroubles(gateway.store)).toMatchObject([
      { name: 'partners', fault: expect.stringContaining(fault) },
    ]);

    published = { status: 200, bytes: bundleOf(clinics, others) };
    await refresh();
    expect(await readBundleTroubles(gateway.store)).toEqual([]);
  },
);

test('certificates that ended, or are there twice, are refused with the reason; a bundle of nothing else is not taken', async () => {
  openssl(
    'req -newkey rsa:2048 -nodes -subj /CN=Old -keyout old.key -out old.csr',
  );
  openssl('x509 -req -in old.csr -signkey old.key -days -1 -out old.pem');
  const [anchor] = readCertificates(
    readFileSync(join(others.folder, 'old.pem'), 'utf8'),
  );
  if (anchor === undefined) throw new Error('openssl made no certificate');
  const old = { anchor };
  published.bytes = bundleOf(clinics, old, clinics);

  expect(await refresh()).toMatchObject({ read: 3, anchors: 1, refused: 2 });
  expect((await stored())?.refused).toEqual([
    { subject: 'CN=Old', reason: expect.stringMatching(/^ended on \d{4}-/) },
    { subject: 'CN=Anchor', reason: 'is there twice' },
  ]);

  published.bytes = bundleOf(old);
  await expect(refresh()).rejects.toThrow('no certificate that is valid now');
  expect(await trustsClinic()).toEqual([true, true]);
});

test('a bundle that must be signed is taken from its signer, and from nobody else', async () => {
  const pem = (authority: TestAuthority) =>
    readFileSync(join(authority.folder, 'anchor.pem'), 'utf8');
  published.bytes = signed(bundleOf(others));

  await put(pem(clinics));
  await expect(refresh()).rejects.toThrow('not signed by whom');
  published.bytes = bundleOf(others);
  await put(pem(others));
  await expect(refresh()).rejects.toThrow('not signed by whom');
  expect(await trustsClinic()).toEqual([true, true]);

  published.bytes = signed(bundleOf(others));
  expect(await refresh()).toMatchObject({ anchors: 1, removed: 1 });
});

test('an operator sees its anchors and what was refused, and cannot trust what was never read, or may be changed on the way', async () => {
  const admin = (...argv: string[]) => runAdminOn(gateway.store, ...argv);
  const { accountId } = await gateway.addAccount();
  const key = join(clinics.folder, 'clinic');
  const connect = (bundles: string) =>
    admin(
      ...`direct connect --account ${accountId} --address a@direct.ours.example --smtp smtps://m.example --imap imaps://m.example --certificate ${key}.pem --private-key ${key}.key --bundles ${bundles}`.split(
        ' ',
      ),
    );
  published.bytes = bundleOf(clinics, clinics);
  await refresh();

  expect((await connect('partners,unknown')).err).toContain(
    'No anchors are known of the trust bundle unknown',
  );
  await connect('partners');
  const { document } = await admin('bundles', 'show', 'partners');
  expect(document).toMatchObject({
    accounts: [accountId],
    anchors: [{ subject: 'CN=Anchor' }],
    refused: [{ subject: 'CN=Anchor', reason: 'is there twice' }],
  });
  expect((await admin('bundles', 'delete', 'partners')).err).toContain(
    `The mailboxes of ${accountId} name the bundle`,
  );
  expect(
    (await admin('bundles', 'add', 'other', '--from', origin)).err,
  ).toContain('could change a bundle that comes by http');
});
