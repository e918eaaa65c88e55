import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { RunningPart } from '../../embedded/running-part.ts';
import type { Environment } from '../../embedded/stack-environment.ts';
import { startServerProcess } from '../server-process.ts';
import { waitUntil } from '../wait-until.ts';
import { type SeaweedFsPorts, seaweedFsArguments, seaweedFsIdentities, seaweedFsSockets } from './program.ts';

export interface SeaweedFsOptions {
  program: string;
  dataDir: string;
  ports: SeaweedFsPorts;
  secretKey: string;
  signal: AbortSignal;
}

const BUCKET = 'exchange';
const ACCESS_KEY = 'exchange';
const REGION = 'us-east-1';
const READY_TIMEOUT_MS = 120_000;

/** What a process needs to keep its blobs there. */
export const s3Environment = ({ s3 }: SeaweedFsPorts, secretKey: string): Environment => ({
  BLOB_STORE: `s3://${BUCKET}/blobs?endpoint=http://127.0.0.1:${s3}`,
  AWS_REGION: REGION,
  AWS_ACCESS_KEY_ID: ACCESS_KEY,
  AWS_SECRET_ACCESS_KEY: secretKey,
});

/** Starts the S3 server. Resolves when the bucket is there. */
export async function startSeaweedFs(options: SeaweedFsOptions): Promise<RunningPart> {
  const { program, dataDir, ports, secretKey, signal } = options;
  const folder = join(dataDir, 'seaweedfs');
  const identities = join(dataDir, 'seaweedfs-login.json');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(identities, seaweedFsIdentities(ACCESS_KEY, secretKey), { mode: 0o600 });
  const part = await startServerProcess({
    name: 'seaweedfs',
    dataDir,
    file: program,
    args: seaweedFsArguments(folder, identities, ports),
    serves: () => bucketExists(ports, secretKey, signal),
    reason: /^F\d{4}|panic:/,
  });
  const stop = async () => {
    await part.stop();
    for (const socket of seaweedFsSockets(ports)) await rm(socket, { force: true });
  };
  return { ...part, stop };
}

/** The server answers before its volumes are ready, so creating the bucket is also how to wait for it. */
async function bucketExists({ s3 }: SeaweedFsPorts, secretKey: string, signal: AbortSignal): Promise<void> {
  const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: secretKey };
  const endpoint = `http://127.0.0.1:${s3}`;
  const client = new S3Client({
    endpoint,
    region: REGION,
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
  });
  const bucket = { Bucket: BUCKET };
  const look = async () => {
    await client
      .send(new HeadBucketCommand(bucket))
      .catch(() => client.send(new CreateBucketCommand(bucket)));
    return true;
  };
  try {
    await waitUntil('the bucket', look, { timeoutMs: READY_TIMEOUT_MS, signal });
  } finally {
    client.destroy();
  }
}
