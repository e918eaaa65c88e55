import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';

const PROJECT = fileURLToPath(new URL('hapi', import.meta.url));
/** Some 290 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(
  new URL('../../.cache/hapi-8.8.0', import.meta.url),
);
/**
 * Half a minute on an idle machine; a busy one with two cores has needed more
 * than three.
 */
const STARTS_WITHIN_MS = 600_000;

/** Why HAPI cannot run here; undefined if it can. */
export const hapiMissing = (): string | undefined => javaMissing(CACHE);

export interface HapiServer {
  readonly baseUrl: string;
  readonly port: number;
  /** Undefined while it does not run. */
  pid(): number | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Sends a request and returns the parsed answer; fails for an error status.
   */
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>>;
}

export interface HapiOptions {
  /**
   * Whether it has `Patient/$match`, by HAPI's MDM module, or
   * `Patient/$summary`, by its IPS module.
   */
  has?: 'match' | 'summary';
  /**
   * JDBC address of a PostgreSQL database. Default: an H2 database in the
   * folder.
   */
  jdbcUrl?: string;
  heap?: string;
}

/**
 * HAPI FHIR's JPA server, its database in the given folder. It can be stopped
 * and started again.
 */
export async function createHapi(
  folder: string,
  { has, jdbcUrl, heap = '1g' }: HapiOptions = {},
): Promise<HapiServer> {
  buildJava({ project: PROJECT, mainClass: 'HapiServer', cache: CACHE });
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}/fhir`;
  let running: ChildProcess | undefined;
  return {
    baseUrl,
    port,
    pid: () => running?.pid,
    async start() {
      const args = [
        `-Xmx${heap}`,
        '-cp',
        classPathOf(CACHE),
        'HapiServer',
        String(port),
        jdbcUrl ?? join(folder, 'hapi'),
        ...(has === undefined ? [] : [has]),
      ];
      running = spawn('java', args, { stdio: ['ignore', 'pipe', 'ignore'] });
      await isReady(running);
    },
    async stop() {
      const stopped = running;
      running = undefined;
      if (stopped === undefined || stopped.exitCode !== null) return;
      const ended = new Promise((resolve) => stopped.once('exit', resolve));
      stopped.kill('SIGTERM');
      await ended;
    },
    async call(method, path, body) {
      const response = await fetch(`${baseUrl}/${path}`, {
        method,
        headers: { 'content-type': 'application/fhir+json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok)
        throw new Error(
          `HAPI answered ${response.status} to ${method} ${path}: ${text}`,
        );
      return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    },
  };
}

function isReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      server.kill('SIGKILL');
      reject(new Error('HAPI did not start in time'));
    }, STARTS_WITHIN_MS);
    server.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('HAPI ended while it started'));
    });
    if (server.stdout === null) return;
    createInterface({ input: server.stdout }).on('line', (line) => {
      if (line !== 'READY') return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        resolve(
          typeof address === 'object' && address !== null ? address.port : 0,
        ),
      );
    });
  });
}
