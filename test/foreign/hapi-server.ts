import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('hapi', import.meta.url));
/** Some 290 MB from Maven Central, fetched once. */
const CACHE = fileURLToPath(new URL('../../.cache/hapi-8.8.0', import.meta.url));
const STARTS_WITHIN_MS = 180_000;

/** Why HAPI cannot run here; undefined if it can. */
export function hapiMissing(): string | undefined {
  const javac = versionOf('javac', ['-version']);
  if (javac === undefined || Number(/\d+/.exec(javac)?.[0]) < 17)
    return 'it needs a JDK of version 17 or newer';
  if (!existsSync(CACHE) && versionOf('mvn', ['-v']) === undefined) return 'it needs Maven (mvn)';
  return undefined;
}

function versionOf(command: string, args: string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

export interface HapiServer {
  readonly baseUrl: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Sends a request and returns the parsed answer; fails for an error status. */
  call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
}

/** HAPI FHIR's JPA server, its database in the given folder. It can be stopped and started again. */
export async function createHapi(folder: string): Promise<HapiServer> {
  build();
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}/fhir`;
  let running: ChildProcess | undefined;
  return {
    baseUrl,
    port,
    async start() {
      const classPath = [join(CACHE, 'libs', '*'), join(CACHE, 'classes')].join(':');
      const args = ['-Xmx1g', '-cp', classPath, 'HapiServer', String(port), join(folder, 'hapi')];
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
      if (!response.ok) throw new Error(`HAPI answered ${response.status} to ${method} ${path}: ${text}`);
      return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    },
  };
}

/** Fetches the libraries and compiles the server, unless the cache has them. Complete or absent: renamed at the end. */
function build(): void {
  if (existsSync(CACHE)) return;
  const building = `${CACHE}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  try {
    const libs = join(building, 'libs');
    const copy = ['-q', '-B', '-f', join(PROJECT, 'pom.xml'), 'dependency:copy-dependencies'];
    execFileSync('mvn', [...copy, `-DoutputDirectory=${libs}`], { stdio: 'inherit' });
    const source = join(PROJECT, 'HapiServer.java');
    execFileSync('javac', ['-d', join(building, 'classes'), '-cp', join(libs, '*'), source], {
      stdio: 'inherit',
    });
    renameSync(building, CACHE);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
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
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
