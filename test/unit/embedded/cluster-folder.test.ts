import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  readConnection,
  S3_FOLDER,
} from '../../../src/local-stack/connection-file.ts';
import { BackupError, backUp } from '../../../tools/embedded/backup/backup.ts';
import { startStack } from '../../../tools/embedded/stack.ts';
import { makeTestFolder } from '../../support/test-folder.ts';

const clusterFolder = async () => {
  const dataDir = join(await makeTestFolder(), 'cluster');
  await mkdir(join(dataDir, S3_FOLDER), { recursive: true });
  return dataDir;
};

test('npm start leaves the data folder of a cluster alone, and says how to start that', async () => {
  const dataDir = await clusterFolder();
  await expect(startStack({ dataDir })).rejects.toThrow(
    /^The data folder .*\/cluster holds a cluster. Start that with: DATA_DIR=.* npm run cluster$/,
  );
});

test('a backup of a cluster is refused, because its blobs and workflows would not be in it', async () => {
  const dataDir = await clusterFolder();
  const backup = backUp(dataDir, `${dataDir}-backup`);
  await expect(backup).rejects.toBeInstanceOf(BackupError);
  await expect(backup).rejects.toThrow(
    'Stop the cluster, and copy the whole folder',
  );
});

test('a command that finds no cluster running says that one is started with npm run cluster', async () => {
  await expect(readConnection(await clusterFolder())).rejects.toThrow(
    'Start one with "npm run cluster"',
  );
});
