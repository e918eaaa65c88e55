import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  DirectError,
  isTrusted,
  openMail,
  protectMail,
  readMail,
  speaksFor,
  writeMail,
} from '../src/index.ts';
import { testAuthority } from './support/identities.ts';

const authority = testAuthority();
const alice = authority.identity('alice', 'DNS:direct.alice.example');
const bob = authority.identity('bob', 'email:bob@direct.bob.example');
const stranger = testAuthority().identity(
  'stranger',
  'DNS:direct.alice.example',
);

const outer = {
  messageId: 'm1@direct.alice.example',
  from: 'alice@direct.alice.example',
  to: ['bob@direct.bob.example'],
  sentAt: new Date('2026-11-29T12:00:00Z'),
};
const report = Buffer.from('%PDF-1.7\n\x00\xff of Jane');

function message(): Promise<Buffer> {
  return writeMail({
    ...outer,
    subject: 'Referral of Jané',
    text: 'Please see the report.',
    attachments: [
      {
        fileName: 'report.pdf',
        contentType: 'application/pdf',
        content: report,
      },
    ],
    context: { id: 'c1@direct.alice.example', patient: { surname: 'Doe' } },
  });
}

const protectedFor = async (recipient = bob, sender = alice) =>
  protectMail(await message(), sender, [recipient.certificate], outer);

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'opened',
    (error: unknown) => (error instanceof DirectError ? error.code : error),
  );

function onlyDirectError(error: unknown): undefined {
  if (!(error instanceof DirectError)) throw error;
}

function openssl(...args: string[]): Buffer {
  return execFileSync('openssl', args, {
    cwd: authority.folder,
    stdio: 'pipe',
  });
}

test('a message arrives as it was sent, and shows nothing on its way', async () => {
  const sent = await protectedFor();
  const opened = await openMail(sent, [bob]);
  const mail = await readMail(opened.mail);

  expect(sent.toString('latin1')).not.toMatch(/Referral|report\.pdf/);
  expect(mail).toMatchObject({
    messageId: 'm1@direct.alice.example',
    from: 'alice@direct.alice.example',
    to: ['bob@direct.bob.example'],
    subject: 'Referral of Jané',
    text: expect.stringContaining('Please see the report.'),
    context: { id: 'c1@direct.alice.example', patient: { surname: 'Doe' } },
  });
  expect(mail.attachments).toEqual([
    { fileName: 'report.pdf', contentType: 'application/pdf', content: report },
  ]);
});

test('openssl decrypts and verifies what we protect', async () => {
  writeFileSync(join(authority.folder, 'ours.eml'), await protectedFor());
  openssl(
    ...'smime -decrypt -in ours.eml -recip bob.pem -inkey bob.key -out ours.signed'.split(
      ' ',
    ),
  );

  const verified = openssl(
    ...'smime -verify -in ours.signed -CAfile anchor.pem -purpose any'.split(
      ' ',
    ),
  );

  expect(verified.toString('latin1')).toContain('report.pdf');
});

describe.each(['-aes128', '-aes256'])('openssl with %s', (cipher) => {
  test.each(['', '-nodetach'])(
    'signs (%s) and encrypts what we open',
    async (detached) => {
      writeFileSync(
        join(authority.folder, 'plain.eml'),
        'Content-Type: text/plain\r\n\r\nGood day\r\n',
      );
      openssl(
        ...`smime -sign -md sha256 ${detached} -in plain.eml -signer alice.pem -inkey alice.key -out theirs.signed`.split(
          / +/,
        ),
      );
      openssl(
        ...`smime -encrypt ${cipher} -in theirs.signed -from alice@direct.alice.example -to bob@direct.bob.example -subject Hello -out theirs.eml bob.pem`.split(
          ' ',
        ),
      );

      const opened = await openMail(
        readFileSync(join(authority.folder, 'theirs.eml')),
        [bob],
      );
      const mail = await readMail(opened.mail);

      expect(mail).toMatchObject({
        from: 'alice@direct.alice.example',
        subject: 'Hello',
        text: 'Good day\n',
      });
      expect(opened.signers.map(({ subject }) => subject)).toEqual([
        'CN=alice',
      ]);
    },
  );
});

test('only a signer whom an anchor vouches for speaks for an address or a domain', async () => {
  const now = new Date();
  const trusted = ({ certificate }: typeof alice) =>
    isTrusted(certificate, [], [authority.anchor], now);

  expect([trusted(alice), trusted(bob), trusted(stranger)]).toEqual([
    true,
    true,
    false,
  ]);
  expect(
    isTrusted(
      alice.certificate,
      [],
      [authority.anchor],
      new Date('2020-01-01'),
    ),
  ).toBe(false);
  expect(speaksFor(alice.certificate, 'anybody@Direct.Alice.example')).toBe(
    true,
  );
  expect(speaksFor(alice.certificate, 'anybody@alice.example')).toBe(false);
  expect(speaksFor(bob.certificate, 'Bob@direct.bob.example')).toBe(true);
  expect(speaksFor(bob.certificate, 'eve@direct.bob.example')).toBe(false);
});

test('a message for somebody else, or without protection, is refused with its reason', async () => {
  const nothing = Buffer.from(
    'Content-Type: application/pkcs7-mime\r\n\r\nnothing',
  );

  expect(await failure(openMail(await protectedFor(stranger), [bob]))).toBe(
    'not-for-us',
  );
  expect(await failure(openMail(await message(), [bob]))).toBe('unprotected');
  expect(await failure(openMail(nothing, [bob]))).toBe('malformed');
});

test('nothing but what a trusted signer wrote is taken, whichever byte was changed', async () => {
  const sent = await protectedFor();
  const { mail } = await openMail(sent, [bob]);
  const start = sent.indexOf('\r\n\r\n') + 4;

  for (let at = start; at < sent.length - 2; at += 97) {
    const changed = Buffer.from(sent);
    changed[at] = changed[at] === 0x41 ? 0x42 : 0x41;
    const opened = await openMail(changed, [bob]).catch(onlyDirectError);
    const isTaken = opened?.signers.every((each) =>
      isTrusted(each, opened.certificates, [authority.anchor], new Date()),
    );

    if (isTaken) expect(opened?.mail).toEqual(mail);
  }
});

test('a signature by SHA-1, and what is encrypted without a signature, are refused', async () => {
  writeFileSync(
    join(authority.folder, 'plain.eml'),
    'Content-Type: text/plain\r\n\r\nGood day\r\n',
  );
  openssl(
    ...'smime -sign -md sha1 -in plain.eml -signer alice.pem -inkey alice.key -out weak.signed'.split(
      ' ',
    ),
  );
  openssl(
    ...'smime -encrypt -aes256 -in weak.signed -out weak.eml bob.pem'.split(
      ' ',
    ),
  );
  openssl(
    ...'smime -encrypt -aes256 -in plain.eml -out unsigned.eml bob.pem'.split(
      ' ',
    ),
  );

  const weak = readFileSync(join(authority.folder, 'weak.eml'));
  const unsigned = readFileSync(join(authority.folder, 'unsigned.eml'));

  expect(await failure(openMail(weak, [bob]))).toBe('algorithm');
  expect(await failure(openMail(unsigned, [bob]))).toBe('unprotected');
});
