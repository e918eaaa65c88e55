import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/lib/free-port.ts';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';

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
}

export async function startGreenMail(): Promise<GreenMailServer> {
  buildJava({ project: PROJECT, mainClass: 'MailServer', cache: CACHE });
  const smtpPort = await freePort();
  const imapPort = await freePort();
  const args = ['-Xmx400m', '-cp', classPathOf(CACHE), 'MailServer'];
  const java = spawn('java', [...args, String(smtpPort), String(imapPort)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
  if (await isUp) return { smtpPort, imapPort, [Symbol.asyncDispose]: stop };
  await stop();
  throw new Error('GreenMail did not start.');
}
