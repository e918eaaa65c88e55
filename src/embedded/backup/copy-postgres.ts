import { chmod, lchown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { clusterFolder } from '../postgres-cluster.ts';
import { copyLive } from './copy-live.ts';

/** State of the running server that a copy must not have (PostgreSQL's documentation, "Low-Level API of backups"). */
const SKIPPED =
  /^(?:postmaster\.(?:pid|opts)|pg_(?:wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\/.+|(?:.+\/)?pgsql_tmp.*)$/;

/**
 * Copies the cluster of a running server as a physical base backup: starting the copy recovers it to the end of this call.
 * The programs of PostgreSQL that are embedded have no pg_basebackup, so this uses the same functions by SQL. Returns the
 * number of files.
 */
export async function copyRunningPostgres(from: string, to: string, databaseUrl: string): Promise<number> {
  const [source, target] = [clusterFolder(from), clusterFolder(to)];
  const session = new pg.Client({ connectionString: databaseUrl });
  await session.connect();
  try {
    // A temporary slot keeps the log since now; it ends with the session.
    await session.query(`select pg_create_physical_replication_slot('exchange_backup', true, true)`);
    await session.query(`select pg_backup_start('npm run backup', true)`);
    let files = await copyLive(source, target, (path) => SKIPPED.test(path));
    const { rows } = await session.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    files += await copyLive(join(source, 'pg_wal'), join(target, 'pg_wal'));
    const label = join(target, 'backup_label');
    await writeFile(label, rows[0]?.labelfile ?? '');
    const { uid, gid } = await stat(source);
    if (process.getuid?.() === 0) await lchown(label, uid, gid);
    await chmod(label, 0o600);
    return files + 1;
  } finally {
    await session.end();
  }
}
