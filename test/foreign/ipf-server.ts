import { spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';

const PROJECT = fileURLToPath(new URL('ipf', import.meta.url));
/** Some 60 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(new URL('../../.cache/ipf-5.0.0', import.meta.url));
/** Some ten seconds on an idle machine. */
const STARTS_WITHIN_MS = 300_000;

/** Why IPF cannot run here; undefined if it can. */
export const ipfMissing = (): string | undefined => javaMissing(CACHE);

/** IPF as a gateway that answers, and that asks where it is told to. */
export interface IpfServer extends AsyncDisposable {
  /** Its address for `iti55`, `iti38` or `iti39`. */
  addressOf(transaction: string): string;
  /**
   * Has it ask a gateway, and returns what it read; fails when it refuses the
   * answer.
   */
  ask(
    transaction: string,
    parameters: Record<string, string>,
    message?: string,
  ): Promise<string>;
}

export async function startIpf(): Promise<IpfServer> {
  buildJava({ project: PROJECT, mainClass: 'IpfGateway', cache: CACHE });
  const port = await freePort();
  const args = ['-Xmx350m', '-cp', classPathOf(CACHE), 'IpfGateway'];
  const java = spawn('java', [...args, String(port)], {
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
  if (!(await isUp)) {
    await stop();
    throw new Error('IPF did not start.');
  }
  const base = `http://127.0.0.1:${port}`;
  return {
    addressOf: (transaction) => `${base}/services/${transaction}`,
    async ask(transaction, parameters, message) {
      const query = new URLSearchParams(parameters);
      const response = await fetch(`${base}/ask/${transaction}?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: message,
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`IPF refused the answer: ${text}`);
      return text;
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
