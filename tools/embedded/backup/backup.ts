import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { runCommand } from '../../../src/lib/run-command.ts';
import {
  holdsCluster,
  NoStackError,
  readConnection,
} from '../../../src/local-stack/connection-file.ts';
import { lockDataFolder } from '../../../src/local-stack/stack-lock.ts';
import { clusterFolder } from '../postgres.ts';

/** Marks a complete backup. */
const MARK = 'backup.json';
const UNFINISHED = '.unfinished';
const COPY_TIMEOUT_MS = 10 * 60_000;
const TEMPORAL_DATABASE = 'temporal.db';
/**
 * The ends of the audit's chains, copied before PostgreSQL: the copy then
 * contains every entry up to them.
 */
const AUDIT_HEADS = 'audit-heads';
/**
 * Copied after the databases: whatever their rows refer to was written before.
 */
const FOLDERS_AFTER = ['blobs', 'orchestrator-files', 'simulator'];
const FILES = ['secrets.json', 'ports.json'];

/** Thrown with a message that says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * Copies a data folder of the embedded stack, while it runs or not. Temporal
 * first, then PostgreSQL: an older Temporal is the skew after which everything
 * is found again (decision 74). Blobs last, because rows are written after
 * their blobs. Logs are not copied. Returns lines that say what was done.
 */
export async function backUp(dataDir: string, to: string): Promise<string[]> {
  const source = await realpath(dataDir).catch(() => {
    throw new BackupError(
      `There is no data folder ${dataDir}; pass --data-dir`,
    );
  });
  if (holdsCluster(source))
    throw new BackupError(
      `${dataDir} holds a cluster, whose blobs are in an S3 server and whose workflows are in PostgreSQL; this command copies the data folders of npm start. Stop the cluster, and copy the whole folder`,
    );
  await mustBeFree(to);
  const work = `${to}${UNFINISHED}`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true, mode: 0o700 });
  const databaseUrl = await runningDatabase(source);
  const release =
    databaseUrl === undefined ? await lockDataFolder(source) : undefined;
  try {
    const startedAt = new Date().toISOString();
    const lines = [`Temporal: ${await copyTemporal(source, work)}`];
    lines.push(
      `${AUDIT_HEADS}: ${await copyLive(join(source, AUDIT_HEADS), join(work, AUDIT_HEADS))} files`,
    );
    const fromPostgres = join(source, 'postgres');
    const toPostgres = join(work, 'postgres');
    let files = await copyLive(fromPostgres, toPostgres, (path) =>
      databaseUrl === undefined
        ? path === 'cluster/postmaster.pid'
        : path === 'cluster' || path.endsWith('.log'),
    );
    if (databaseUrl !== undefined)
      files += await copyRunningPostgres(fromPostgres, toPostgres, databaseUrl);
    lines.push(
      `PostgreSQL: ${files} files${databaseUrl === undefined ? '' : ', while it runs'}`,
    );
    for (const name of FOLDERS_AFTER)
      lines.push(
        `${name}: ${await copyLive(join(source, name), join(work, name))} files`,
      );
    for (const name of FILES)
      lines.push(
        `${name}: ${(await copyLive(source, work, (path) => path !== name)) === 1 ? 'copied' : 'missing'}`,
      );
    await writeFile(join(work, MARK), JSON.stringify({ startedAt }), {
      mode: 0o600,
    });
    await rename(work, to);
    return [
      ...lines,
      `The backup of ${startedAt} is complete: ${to}. It contains the keys: protect it like the data folder.`,
    ];
  } finally {
    await release?.();
  }
}

/**
 * Puts a backup into a new data folder. Returns lines that say what was done.
 */
export async function restore(
  from: string,
  dataDir: string,
): Promise<string[]> {
  if (!(await namesIn(from)).includes(MARK))
    throw new BackupError(
      `${from} is not a complete backup made by npm run backup`,
    );
  await mustBeFree(dataDir);
  await mkdir(dirname(dataDir), { recursive: true });
  const work = `${dataDir}${UNFINISHED}`;
  await rm(work, { recursive: true, force: true });
  const files = await copyLive(from, work, (path) => path === MARK);
  await rename(work, dataDir).catch(async (error: unknown) => {
    await rm(work, { recursive: true, force: true });
    throw error;
  });
  return [
    `Restored ${files} files to ${dataDir}. Start it with: DATA_DIR=${dataDir} npm start`,
    'Stop the stack of the original first: both would call the same sources and send the same webhooks.',
    'What to check and to redo then is in docs/operations/backups.md.',
  ];
}

/** An empty folder is free, too. */
async function mustBeFree(folder: string): Promise<void> {
  if ((await namesIn(folder)).length > 0)
    throw new BackupError(
      `${folder} exists and is not empty; nothing was changed. Name a new folder`,
    );
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

/**
 * The superuser's address of the running stack's database; undefined if no
 * stack runs.
 */
async function runningDatabase(dataDir: string): Promise<string | undefined> {
  try {
    return (await readConnection(dataDir)).databaseUrl;
  } catch (error) {
    if (error instanceof NoStackError) return undefined;
    throw error;
  }
}

/**
 * By SQLite's own backup, which is consistent while the server writes. Node.js
 * 20 has no SQLite; python3 is required anyway.
 */
async function copyTemporal(from: string, to: string): Promise<string> {
  if (!(await namesIn(join(from, 'temporal'))).includes(TEMPORAL_DATABASE))
    return 'not embedded, nothing copied';
  await mkdir(join(to, 'temporal'), { mode: 0o700 });
  const script =
    'import sqlite3, sys\n' +
    'source = sqlite3.connect(sys.argv[1], timeout=60)\n' +
    'target = sqlite3.connect(sys.argv[2])\n' +
    'source.backup(target)\n';
  const paths = [from, to].map((folder) =>
    join(folder, 'temporal', TEMPORAL_DATABASE),
  );
  await runCommand('python3', ['-c', script, ...paths], {
    timeoutMs: COPY_TIMEOUT_MS,
  });
  return 'copied';
}

/**
 * State of the running server that a copy must not have (PostgreSQL's
 * documentation, "Low-Level API of backups").
 */
const SKIPPED =
  /^(?:postmaster\.(?:pid|opts)|pg_(?:wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\/.+|(?:.+\/)?pgsql_tmp.*)$/;

/**
 * Copies the cluster of a running server as a physical base backup: starting
 * the copy recovers it to the end of this call. The programs of PostgreSQL that
 * are embedded have no pg_basebackup, so this uses the same functions by SQL.
 * Returns the number of files.
 */
export async function copyRunningPostgres(
  from: string,
  to: string,
  databaseUrl: string,
): Promise<number> {
  const source = clusterFolder(from);
  const target = clusterFolder(to);
  const session = new pg.Client({ connectionString: databaseUrl });
  await session.connect();
  try {
    // A temporary slot keeps the log since now; it ends with the session.
    await session.query(
      `select pg_create_physical_replication_slot('exchange_backup', true, true)`,
    );
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

/**
 * Copies a folder whose files may change meanwhile, with modes and, where
 * allowed, owners. Files that disappear during the copy are left out. `skip`
 * receives paths relative to the folder. Returns the number of files.
 */
async function copyLive(
  from: string,
  to: string,
  skip: (path: string) => boolean = () => false,
  path = '',
): Promise<number> {
  const source = join(from, path);
  const target = join(to, path);
  const found = await lstat(source).catch(unlessGone);
  if (found === undefined || (!found.isDirectory() && !found.isFile()))
    return 0;
  let copied = 0;
  if (found.isDirectory()) {
    await mkdir(target, { recursive: true });
    for (const name of (await readdir(source).catch(unlessGone)) ?? []) {
      const inner = join(path, name);
      if (!skip(inner)) copied += await copyLive(from, to, skip, inner);
    }
  } else {
    if (
      (await copyFile(source, target).then(() => true, unlessGone)) ===
      undefined
    )
      return 0;
    copied = 1;
  }
  // PostgreSQL runs as another user if we are root; everybody else copies only
  // files of their own.
  if (process.getuid?.() === 0) await lchown(target, found.uid, found.gid);
  await chmod(target, found.mode & 0o777);
  return copied;
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
