import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../src/lib/run-command.ts';

export interface TestCertificate {
  certFile: string;
  keyFile: string;
}

const openssl = (args: readonly string[]) =>
  runCommand('openssl', [...args], { timeoutMs: 240_000 });
const KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
} as const;

/** A certificate authority of its own, in the folder. */
export async function makeAuthority(
  folder: string,
  name: string,
): Promise<TestCertificate> {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  await openssl([
    'req',
    '-x509',
    '-days',
    '2',
    ...KEYS.ec,
    '-subj',
    `/CN=${name}`,
    '-keyout',
    keyFile,
    '-out',
    certFile,
  ]);
  return { certFile, keyFile };
}

/**
 * A server's certificate for these names (`DNS:localhost`, `IP:127.0.0.1`),
 * signed by the authority.
 */
export async function makeCertificate(
  folder: string,
  name: string,
  options: {
    authority: TestCertificate;
    names: readonly string[];
    /** Gateways of networks have RSA. */
    key?: keyof typeof KEYS;
  },
): Promise<TestCertificate> {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const request = join(folder, `${name}.csr`);
  const extensions = join(folder, `${name}.ext`);
  // A # begins a comment there.
  const names = options.names.join(',').replaceAll('#', '\\#');
  await writeFile(extensions, `subjectAltName=${names}\n`);
  await openssl([
    'req',
    '-new',
    ...KEYS[options.key ?? 'ec'],
    '-subj',
    `/CN=${name}`,
    '-keyout',
    keyFile,
    '-out',
    request,
  ]);
  await openssl([
    'x509',
    '-req',
    '-days',
    '2',
    '-in',
    request,
    '-out',
    certFile,
    '-extfile',
    extensions,
    '-CA',
    options.authority.certFile,
    '-CAkey',
    options.authority.keyFile,
    '-CAcreateserial',
  ]);
  return { certFile, keyFile };
}
