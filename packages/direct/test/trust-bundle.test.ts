import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DirectError, readTrustBundle } from '../src/index.ts';
import { testAuthority } from './support/identities.ts';

const authority = testAuthority();
const other = testAuthority();
const signer = authority.identity('signer', 'DNS:bundles.example');

const openssl = (line: string) =>
  execFileSync('openssl', line.split(' '), {
    cwd: authority.folder,
    stdio: 'pipe',
  });
const file = (name: string) => readFileSync(join(authority.folder, name));

writeFileSync(
  join(authority.folder, 'anchors.pem'),
  `${authority.anchor}${other.anchor}`,
);
openssl('crl2pkcs7 -nocrl -certfile anchors.pem -outform DER -out bundle.p7b');
openssl('crl2pkcs7 -nocrl -certfile anchors.pem -out bundle.pem');
openssl(
  'cms -sign -binary -nodetach -md sha256 -in bundle.p7b -signer signer.pem -inkey signer.key -outform DER -out bundle.p7m',
);
openssl(
  'cms -sign -binary -nodetach -stream -indef -md sha256 -in bundle.p7b -signer signer.pem -inkey signer.key -outform DER -out bundle.ber',
);

const subjectsOf = async (bytes: Uint8Array) => {
  const { certificates, signers } = await readTrustBundle(bytes);

  return {
    anchors: certificates.map(({ fingerprint256 }) => fingerprint256).sort(),
    signers: signers.map(({ subject }) => subject),
  };
};
const anchors = [authority.anchor, other.anchor]
  .map(({ fingerprint256 }) => fingerprint256)
  .sort();

test.each(['bundle.p7b', 'bundle.pem'])(
  'a bundle of others (%s) has its anchors, and no signer',
  async (name) => {
    expect(await subjectsOf(file(name))).toEqual({ anchors, signers: [] });
  },
);

test.each(['bundle.p7m', 'bundle.ber'])(
  'a signed bundle (%s) has those of its content, and its signer',
  async (name) => {
    expect(await subjectsOf(file(name))).toEqual({
      anchors,
      signers: [signer.certificate.subject],
    });
  },
);

test('a bundle of many certificates is read whole', async () => {
  writeFileSync(
    join(authority.folder, 'many.pem'),
    `${authority.anchor}`.repeat(400),
  );
  openssl('crl2pkcs7 -nocrl -certfile many.pem -outform DER -out many.p7b');

  const { certificates } = await readTrustBundle(file('many.p7b'));

  expect(certificates).toHaveLength(400);
});

test('a certificate that cannot be read takes no other with it', async () => {
  const bundle = file('bundle.p7b');
  // The version of the first certificate becomes a number that none has.
  const at = bundle.indexOf(authority.anchor.raw.subarray(8, 40));
  const changed = Buffer.from(bundle);
  changed.fill(0xff, at, at + 3);
  const { certificates, unreadable } = await readTrustBundle(changed);

  expect([certificates.length, unreadable]).toEqual([1, 1]);
});

test('whichever byte of a signed bundle is changed, nothing else is read from it, or it is refused', async () => {
  const bundle = file('bundle.p7m');
  for (let at = 0; at < bundle.length; at += 61) {
    const changed = Buffer.from(bundle);
    changed[at] = (changed[at] ?? 0) ^ 0x01;
    const read = await subjectsOf(changed).catch((error: unknown) => {
      if (!(error instanceof DirectError)) throw error;
    });

    if (read !== undefined && read.signers.length > 0)
      expect(read.anchors).toEqual(anchors);
  }
});

test.each(['', '<html>Not found</html>', '\x30\x80'.repeat(2_000)])(
  'what is no bundle is refused as such',
  async (text) => {
    await expect(
      readTrustBundle(Buffer.from(text, 'latin1')),
    ).rejects.toMatchObject({ code: 'malformed' });
  },
);
