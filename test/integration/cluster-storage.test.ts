import {
  DeleteObjectCommand,
  ListObjectVersionsCommand,
} from '@aws-sdk/client-s3';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuditChain } from '../../src/exchange/platform/audit/chain.ts';
import { openAuditHeads } from '../../src/exchange/platform/audit/open-heads.ts';
import { freePort } from '../../src/lib/free-port.ts';
import {
  ensureSecrets,
  type StackStorage,
} from '../../src/local-stack/connection-file.ts';
import { openBlobStore } from '../../src/shared/blobs/open-blob-store.ts';
import { openS3Bucket } from '../../src/shared/blobs/s3-bucket.ts';
import {
  SEAWEEDFS_PORTS,
  type SeaweedFsPorts,
  seaweedStorage,
  startSeaweedFs,
} from '../../tools/cluster/seaweedfs/seaweedfs.ts';
import type { RunningPart } from '../../tools/embedded/child-process.ts';
import {
  gatewayEnvironment,
  workerEnvironment,
} from '../../tools/embedded/stack-environment.ts';
import { findSeaweedFs } from '../support/seaweedfs.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { testKeyRing } from '../support/test-keys.ts';

const found = await findSeaweedFs();
const title =
  'missing' in found
    ? `the files of a cluster (skipped: no SeaweedFS, ${found.missing})`
    : 'the files of a cluster';

describe.skipIf('missing' in found)(title, () => {
  let dataDir: string;
  let server: RunningPart;
  let storage: StackStorage;
  beforeAll(async () => {
    dataDir = await makeTestFolder();
    const free: [string, number][] = [];
    for (const name of SEAWEEDFS_PORTS) free.push([name, await freePort()]);
    const ports = Object.fromEntries(free) as SeaweedFsPorts;
    const login = { ports, secretKey: 'only-in-tests' };
    const program = 'path' in found ? found.path : '';
    server = await startSeaweedFs({
      ...login,
      program,
      dataDir,
      signal: new AbortController().signal,
    });
    storage = seaweedStorage(ports, login.secretKey);
  });
  afterAll(() => server?.stop());

  /**
   * As another process of the cluster, which has nothing but the addresses and
   * the login.
   */
  const open = (address: string) =>
    openBlobStore(address, testKeyRing(), 'BLOB_STORE', storage.s3);

  test('are read by any process that knows their address, whichever wrote them', async () => {
    for (const address of [storage.blobs, storage.orchestratorFiles]) {
      const { ref } = await (await open(address)).put(
        'upload',
        Buffer.from('a,b\n'),
        'text/csv',
      );
      expect((await (await open(address)).read(ref)).toString()).toBe('a,b\n');
    }
  });

  test('are apart: what deletes old blobs does not reach the files of the orchestrator', async () => {
    const files = await open(storage.orchestratorFiles);
    const { ref } = await files.put('upload', Buffer.from('a'), 'text/csv');
    await (await open(storage.blobs)).deleteWrittenBefore(
      'upload',
      new Date(Date.now() + 60_000),
    );
    expect((await files.read(ref)).toString()).toBe('a');
  });

  test('include audit heads that cannot be deleted', async () => {
    const heads = await openAuditHeads(storage.auditHeads, storage.s3);
    const sealedAt = new Date().toISOString();
    const head = createAuditChain(['audit-key']).sign({
      accountId: uuidv7(),
      position: 1,
      mac: '00',
      sealedAt,
    });
    await heads.write(head);
    const { client, bucket } = await openS3Bucket(
      new URL(storage.auditHeads),
      'AUDIT_HEADS',
      storage.s3,
    );
    const { Versions: versions = [] } = await client.send(
      new ListObjectVersionsCommand({ Bucket: bucket }),
    );
    for (const { Key, VersionId } of versions)
      await expect(
        client.send(
          new DeleteObjectCommand({ Bucket: bucket, Key, VersionId }),
        ),
      ).rejects.toThrow();
    const again = await openAuditHeads(storage.auditHeads, storage.s3);
    expect(await again.read(head.accountId)).toEqual(head);
    client.destroy();
  });

  test('are in no folder of a gateway or worker, so that these may run on different machines', async () => {
    const secrets = await ensureSecrets(dataDir);
    const names = [
      'gateway',
      'receiver',
      'simulator',
      'worker',
      'temporal',
      'temporalUi',
      'temporalWeb',
      'postgres',
    ];
    const ports = Object.fromEntries(
      names.map((name, index) => [name, 20_000 + index]),
    ) as never;
    const facts = {
      dataDir,
      secrets,
      ports,
      storage,
      logLevel: 'info',
      databaseUrl: '',
      sources: {},
    };
    const known = {
      ...facts,
      webhookKey: '',
      accountId: uuidv7(),
      temporal: {},
    };
    for (const environment of [
      gatewayEnvironment(known),
      workerEnvironment(known),
    ])
      for (const [name, value] of Object.entries(environment))
        expect(
          value.includes(dataDir) || value.startsWith('file:'),
          `${name} is a folder`,
        ).toBe(false);
  });
});
