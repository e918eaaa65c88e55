import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/lib/free-port.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const PROJECT = fileURLToPath(new URL('greenmail', import.meta.url));
/** Some 4 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(
  new URL('../../.cache/greenmail-2.1.3', import.meta.url),
);
const STARTS_WITHIN_MS = 300_000;

/** Why GreenMail cannot run here; undefined if it can. */
export const greenMailMissing = (): string | undefined => javaMissing(CACHE);

/** GreenMail with two mailboxes, as MailServer.java has them. */
export interface GreenMailServer extends AsyncDisposable {
  smtpPort: number;
  imapPort: number;
  /** With TLS from the first byte on. */
  tls: {
    smtpPort: number;
    imapPort: number;
    /** PEM of the private authority of its certificate. */
    ca: string;
  };
}

export async function startGreenMail(): Promise<GreenMailServer> {
  buildJava({ project: PROJECT, mainClass: 'MailServer', cache: CACHE });
  const smtpPort = await freePort();
  const imapPort = await freePort();
  const { keystore, ca } = await makeKeystore();
  const tls = { smtpPort: await freePort(), imapPort: await freePort(), ca };
  const args = [
    '-Xmx400m',
    `-Dgreenmail.tls.keystore.file=${keystore}`,
    `-Dgreenmail.tls.keystore.password=${KEYSTORE_PASSWORD}`,
    '-cp',
    classPathOf(CACHE),
    'MailServer',
    ...[smtpPort, imapPort, tls.smtpPort, tls.imapPort].map(String),
  ];
  const java = spawn('java', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) =>
    java.once('exit', () => resolve()),
  );
  const isUp = new Promise<boolean>((resolve) => {
    createInterface({ input: java.stdout }).on('line', (line) => {
      if (line === 'READY') resolve(true);
    });
    java.once('exit', () => resolve(false));
    setTimeout(() => resolve(false), STARTS_WITHIN_MS).unref();
  });
  const stop = async () => {
    java.kill('SIGTERM');
    await ended;
  };
  if (await isUp)
    return { smtpPort, imapPort, tls, [Symbol.asyncDispose]: stop };
  await stop();
  throw new Error('GreenMail did not start.');
}

const KEYSTORE_PASSWORD = 'of the keystore';

/** The key of a server on this machine, as Java reads it. */
async function makeKeystore(): Promise<{ keystore: string; ca: string }> {
  const folder = await makeTestFolder();
  const authority = await makeAuthority(folder, 'hisp-authority');
  const { certFile, keyFile } = await makeCertificate(folder, 'hisp', {
    authority,
    names: ['IP:127.0.0.1'],
  });
  const keystore = join(folder, 'hisp.p12');
  await runCommand(
    'openssl',
    [
      'pkcs12',
      '-export',
      '-inkey',
      keyFile,
      '-in',
      certFile,
      '-out',
      keystore,
      '-passout',
      `pass:${KEYSTORE_PASSWORD}`,
    ],
    { timeoutMs: 60_000 },
  );
  return { keystore, ca: await readFile(authority.certFile, 'utf8') };
}
