import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { vi } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import {
  getSeaweedFs,
  SEAWEEDFS_PORTS,
  type SeaweedFsPorts,
  seaweedFsArguments,
  seaweedFsIdentities,
  seaweedFsSockets,
} from '../../tools/cluster/seaweedfs/seaweedfs.ts';

/** Returns the path of SeaweedFS's program, or why it cannot be had here. */
export async function findSeaweedFs(): Promise<
  { path: string } | { missing: string }
> {
  try {
    return { path: await getSeaweedFs() };
  } catch (error) {
    return {
      missing: error instanceof Error ? error.message : 'the download failed',
    };
  }
}

export interface S3Server {
  /** For the queries of addresses: `s3://bucket/prefix?endpoint=…`. */
  endpoint: string;
  client: S3Client;
  createBucket(name: string): Promise<void>;
  /** Ends the server without a word, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a real S3 server on loopback. It accepts the credentials that are in
 * the environment while it runs.
 */
export async function startSeaweedFs(program: string): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'seaweedfs-'));
  const credentials = {
    accessKeyId: 'exchange',
    secretAccessKey: 'only-in-tests',
  };
  const environment = {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: 'us-east-1',
  };
  const before = Object.keys(environment).map(
    (name) => [name, process.env[name]] as const,
  );
  Object.assign(process.env, environment);
  const identities = join(folder, 's3.json');
  await writeFile(
    identities,
    seaweedFsIdentities(credentials.accessKeyId, credentials.secretAccessKey),
  );
  const free: [string, number][] = [];
  for (const name of SEAWEEDFS_PORTS) free.push([name, await freePort()]);
  const ports = Object.fromEntries(free) as SeaweedFsPorts;
  const endpoint = `http://127.0.0.1:${ports.s3}`;
  const client = new S3Client({
    endpoint,
    forcePathStyle: true,
    credentials,
    region: 'us-east-1',
  });
  const flags = seaweedFsArguments(folder, identities, ports);
  const run = () => {
    const child = spawn(program, flags, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: folder,
    });
    const log = createWriteStream(join(folder, 'weed.log'), { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    return child;
  };
  let running = run();
  const end = async (signal: NodeJS.Signals) => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill(signal);
    await ended;
  };
  const server: S3Server = {
    endpoint,
    client,
    // The server answers before its volumes are ready, so creating a bucket is
    // also how to wait for it.
    async createBucket(name) {
      await vi.waitFor(
        () =>
          client
            .send(new CreateBucketCommand({ Bucket: name }))
            .then(() => undefined, unlessThere),
        { timeout: 240_000, interval: 200 },
      );
    },
    kill: () => end('SIGKILL'),
    async start() {
      running = run();
      await server.createBucket('probe');
    },
    async close() {
      await end('SIGTERM');
      for (const socket of seaweedFsSockets(ports))
        await rm(socket, { force: true });
      client.destroy();
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      await rm(folder, { recursive: true, force: true });
    },
  };
  return server;
}

function unlessThere(error: unknown): void {
  const name = error instanceof Error ? error.name : '';
  if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists')
    throw error;
}
