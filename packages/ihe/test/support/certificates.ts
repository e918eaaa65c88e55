import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Credentials,
  readCredentials,
} from '../../src/security/credentials.ts';

/** A certificate of a network that exists only in tests, with its key. */
export interface NetworkCertificate {
  certificate: string;
  privateKey: string;
  credentials: Credentials;
}

export interface TestNetwork {
  /** The authority's certificate, as PEM. */
  authority: string;
  /** By name: certificates of the authority, for localhost. */
  members: Readonly<Record<string, NetworkCertificate>>;
}

const LOCAL = 'subjectAltName=DNS:localhost,IP:127.0.0.1\n';

/** Makes an authority and a certificate for each name. */
export function makeNetwork<Name extends string>(
  ...names: readonly Name[]
): TestNetwork & { members: Record<Name, NetworkCertificate> } {
  const folder = mkdtempSync(join(tmpdir(), 'ihe-certificates-'));
  try {
    const at = (name: string) => join(folder, name);
    const read = (name: string) => readFileSync(at(name), 'utf8');
    writeFileSync(at('ext'), LOCAL);
    openssl(
      'req -x509 -days 2 -newkey rsa:2048 -nodes -subj /C=US/O=Network/CN=Authority -keyout',
      at('ca.key'),
      '-out',
      at('ca.crt'),
    );
    const entries = names.map((name): [Name, NetworkCertificate] => {
      openssl(
        `req -new -newkey rsa:2048 -nodes -subj /C=US/ST=MA/O=Clinic/CN=${name} -keyout`,
        at('key'),
        '-out',
        at('csr'),
      );
      openssl(
        'x509 -req -days 2 -CAcreateserial -in',
        at('csr'),
        '-out',
        at('crt'),
        '-extfile',
        at('ext'),
        '-CA',
        at('ca.crt'),
        '-CAkey',
        at('ca.key'),
      );
      const pem = { certificate: read('crt'), privateKey: read('key') };
      return [name, { ...pem, credentials: readCredentials(pem) }];
    });
    return {
      authority: read('ca.crt'),
      members: Object.fromEntries(entries) as Record<Name, NetworkCertificate>,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function openssl(command: string, ...rest: readonly string[]): void {
  execFileSync('openssl', [...command.split(' '), ...rest], { stdio: 'pipe' });
}
