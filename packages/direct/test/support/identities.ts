import { execFileSync } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DirectIdentity,
  readCertificates,
  readIdentity,
} from '../../src/index.ts';

/** An authority of Direct, and identities that it vouches for, by openssl. */
export interface TestAuthority {
  folder: string;
  anchor: X509Certificate;

  /**
   * Makes `<name>.pem` and `<name>.key` in the folder.
   *
   * @param names `email:…` or `DNS:…`
   */
  identity(name: string, names: string): DirectIdentity;

  /** What it has revoked, of the names of identities; in DER. */
  revocationList(...names: string[]): Buffer;
}

export function testAuthority(): TestAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'direct-'));
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  openssl(
    ...'req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=Anchor -keyout anchor.key -out anchor.pem'.split(
      ' ',
    ),
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  );
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const [anchor] = readCertificates(read('anchor.pem'));
  if (anchor === undefined) throw new Error('openssl made no certificate');

  return {
    folder,
    anchor,
    identity(name, names) {
      writeFileSync(
        join(folder, `${name}.ext`),
        `subjectAltName=${names}\nbasicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\n`,
      );
      openssl(
        ...`req -newkey rsa:2048 -nodes -subj /CN=${name} -keyout ${name}.key -out ${name}.csr`.split(
          ' ',
        ),
      );
      openssl(
        ...`x509 -req -in ${name}.csr -CA anchor.pem -CAkey anchor.key -CAcreateserial -days 30 -extfile ${name}.ext -out ${name}.pem`.split(
          ' ',
        ),
      );

      return readIdentity(read(`${name}.pem`), read(`${name}.key`));
    },
    revocationList(...names) {
      const entries = names.map((name) => {
        const [certificate] = readCertificates(read(`${name}.pem`));

        return `R\t491231000000Z\t260101000000Z\t${certificate?.serialNumber}\tunknown\t/CN=${name}\n`;
      });
      writeFileSync(join(folder, 'index.txt'), entries.join(''));
      writeFileSync(
        join(folder, 'ca.cnf'),
        '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ndefault_md=sha256\ndefault_crl_days=7\n',
      );
      openssl(
        ...'ca -config ca.cnf -gencrl -cert anchor.pem -keyfile anchor.key -out list.pem'.split(
          ' ',
        ),
      );
      openssl(...'crl -in list.pem -outform DER -out list.crl'.split(' '));

      return readFileSync(join(folder, 'list.crl'));
    },
  };
}
