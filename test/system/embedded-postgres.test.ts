import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import {
  type PostgresOptions,
  type RunningPostgres,
  startPostgres,
} from '../../tools/embedded/postgres.ts';
import {
  asOtherUser,
  findPostgresBinaries,
  hydrateSymlinks,
} from '../../tools/embedded/postgres-launcher.ts';
import {
  barredFrom,
  CLONE,
  killAndWait,
  querySql,
  runHolder,
  testFolder,
} from '../support/postgres-tools.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };

/** Durable settings, only small. */
async function start(options: PostgresOptions): Promise<RunningPostgres> {
  const server = await startPostgres({
    settings: { shared_buffers: '32MB' },
    ...options,
  });
  onTestFinished(() => server.stop());
  return server;
}

const ADD_ROW = 'CREATE TABLE kept AS SELECT 1 AS value';
const READ_ROW = 'SELECT value FROM kept';

describe('embedded PostgreSQL', () => {
  test('keeps its data and its password over a stop and a start', async () => {
    const dataDir = join(await testFolder(), 'postgres');
    const first = await start({ dataDir });
    await querySql(first.databaseUrl, ADD_ROW);
    await first.stop();
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect((await stat(join(dataDir, 'password'))).mode & 0o777).toBe(0o600);
    const second = await start({ dataDir, port: first.port });
    expect(await querySql(second.databaseUrl, READ_ROW)).toEqual([
      { value: 1 },
    ]);
    expect(second.databaseUrl).toBe(first.databaseUrl);
  });

  test('loses nothing that was committed when it is killed', async () => {
    const dataDir = await testFolder();
    const first = await start({ dataDir });
    await querySql(first.databaseUrl, ADD_ROW);
    process.kill(first.pid, 'SIGKILL');
    expect((await first.exited).signal).toBe('SIGKILL');
    const second = await start({ dataDir });
    expect(await querySql(second.databaseUrl, READ_ROW)).toEqual([
      { value: 1 },
    ]);
  });

  test('replaces the server that a killed supervisor left behind', async () => {
    const dataDir = await testFolder();
    const { holder, message: left } = await runHolder<{
      databaseUrl: string;
      pid: number;
    }>('./postgres-holder.ts', [dataDir]);
    await querySql(left.databaseUrl, ADD_ROW);
    await killAndWait(holder);
    expect(await commandLineOf(left.pid)).toContain(dataDir);
    const next = await start({ dataDir });
    expect(await commandLineOf(left.pid)).toBeUndefined();
    expect(await querySql(next.databaseUrl, READ_ROW)).toEqual([{ value: 1 }]);
  });

  test('leaves a stranger alone whose pid an old server once had', async () => {
    const dataDir = await testFolder();
    const first = await start({ dataDir });
    await first.stop();
    const stranger = spawn('sleep', ['600']);
    onTestFinished(() => void stranger.kill());
    await once(stranger, 'spawn');
    const { pid } = stranger;
    await writeFile(
      join(dataDir, 'cluster', 'postmaster.pid'),
      `${pid}\n${dataDir}/cluster\n0\n1\n\n\n0 0\n`,
    );
    const second = await start({ dataDir });
    expect(await querySql(second.databaseUrl, 'SELECT 1 AS one')).toEqual([
      { one: 1 },
    ]);
    expect(stranger.exitCode).toBeNull();
    expect(stranger.signalCode).toBeNull();
  });

  test('starts when the killed server has ended and is still a zombie process', async () => {
    const dataDir = await testFolder();
    const first = await start({ dataDir });
    await querySql(first.databaseUrl, ADD_ROW);
    await first.stop();
    // The shell becomes a process that does not know of its child.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 600']);
    onTestFinished(() => void parent.kill());
    const [line] = await once(parent.stdout, 'data');
    await vi.waitFor(
      async () => expect(await commandLineOf(Number(line))).toBeUndefined(),
      {
        timeout: 240_000,
      },
    );
    await writeFile(
      join(dataDir, 'cluster', 'postmaster.pid'),
      `${Number(line)}\n${dataDir}/cluster\n0\n1\n\n\n0 0\n`,
    );
    const next = await start({ dataDir });
    expect(await querySql(next.databaseUrl, READ_ROW)).toEqual([{ value: 1 }]);
  });

  test('starts afresh where the first initialisation was killed half-way', async () => {
    const dataDir = await testFolder();
    const halfDone = await mkdtemp(join(dataDir, 'init-'));
    await mkdir(join(halfDone, 'cluster'));
    await writeFile(join(halfDone, 'cluster', 'PG_VERSION'), '18\n');
    const server = await start({ dataDir });
    expect(await querySql(server.databaseUrl, 'SELECT 1 AS one')).toEqual([
      { one: 1 },
    ]);
    expect(
      (await readdir(dataDir)).filter((name) => name.startsWith('init-')),
    ).toEqual([]);
  });

  test('says in the words of the server why it does not start', async () => {
    const dataDir = await testFolder();
    await expect(
      start({ dataDir, settings: { shared_buffers: 'plenty' } }),
    ).rejects.toThrow(
      /PostgreSQL did not start: .*shared_buffers.*log: .*postgres\.log/,
    );
  });

  test('writes no statement, parameter or row into its log', async () => {
    const dataDir = await testFolder();
    const logFile = join(dataDir, 'server.log');
    const { databaseUrl } = await start({ dataDir, logFile });
    await querySql(databaseUrl, 'CREATE TABLE person (name text UNIQUE)');
    const insert = `INSERT INTO person VALUES ('Rosalinde')`;
    await querySql(databaseUrl, insert);
    await expect(querySql(databaseUrl, insert)).rejects.toThrow(
      /duplicate key/,
    );
    // This error quotes the value in its own text.
    await expect(
      querySql(databaseUrl, `SELECT 'Rosalinde'::uuid`),
    ).rejects.toThrow(/Rosalinde/);
    const log = await readFile(logFile, 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toContain('Rosalinde');
  });

  test('mends the links that a blocked install script left out', async () => {
    const folder = await testFolder();
    const original = await findPostgresBinaries();
    await cp(join(original.folder, '..', 'scripts'), join(folder, 'scripts'), {
      recursive: true,
    });
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await mkdir(join(folder, 'native', 'lib'), { recursive: true });
    await writeFile(join(folder, 'native', 'lib', 'libx.so.1.2'), '');
    const links = ['native/lib/libx.so', 'native/lib/libx.so.1'];
    await writeFile(
      join(folder, 'native', 'pg-symlinks.json'),
      JSON.stringify(
        links.map((target) => ({ source: 'native/lib/libx.so.1.2', target })),
      ),
    );
    await symlink('libx.so.1.2', join(folder, 'native/lib/libx.so'));
    await hydrateSymlinks(join(folder, 'native'));
    for (const link of links)
      expect((await lstat(join(folder, link))).isSymbolicLink()).toBe(true);
  });
});

describe.runIf(isRoot)(
  'embedded PostgreSQL on a machine where we are root',
  () => {
    test('runs for a plain user too', async ({ skip }) => {
      const dataDir = await testFolder();
      await chown(dataDir, NOBODY.uid, NOBODY.gid);
      const barred = barredFrom([...CLONE, dataDir], NOBODY);
      if (barred !== undefined) skip(barred);
      const { holder, message } = await runHolder<{
        databaseUrl: string;
        pid: number;
      }>('./postgres-holder.ts', [dataDir], NOBODY);
      expect(message).not.toHaveProperty('error');
      expect(await querySql(message.databaseUrl, 'SELECT 1 AS one')).toEqual([
        { one: 1 },
      ]);
      await killAndWait(holder);
      process.kill(message.pid, 'SIGQUIT');
    });

    test('works in a folder that root alone may enter', async () => {
      const closed = await testFolder();
      await chmod(closed, 0o700);
      const server = await start({ dataDir: join(closed, 'data') });
      expect(await querySql(server.databaseUrl, 'SELECT 1 AS one')).toEqual([
        { one: 1 },
      ]);
    });

    test('runs as another user, from a copy of the programs, where there are no user namespaces', async ({
      skip,
    }) => {
      const open = await testFolder();
      const closed = await testFolder();
      await chmod(open, 0o755);
      const barred = barredFrom([open], NOBODY);
      if (barred !== undefined) skip(barred);
      await chmod(closed, 0o700);
      const original = await findPostgresBinaries();
      const native = join(closed, 'native');
      await cp(original.folder, native, {
        recursive: true,
        verbatimSymlinks: true,
      });
      const unreachable = {
        folder: native,
        initdb: join(native, 'bin', 'initdb'),
        postgres: join(native, 'bin', 'postgres'),
      };
      const dataDir = join(open, 'data');
      await mkdir(dataDir, { mode: 0o700 });
      const launcher = await asOtherUser(
        unreachable,
        NOBODY,
        dataDir,
        'not allowed',
      );
      onTestFinished(() =>
        rm(launcher.binaries.folder, { recursive: true, force: true }),
      );
      const server = await start({ dataDir, launcher });
      expect(await querySql(server.databaseUrl, 'SELECT 1 AS one')).toEqual([
        { one: 1 },
      ]);
    });

    test('offers DATABASE_URL where the other user cannot reach the data', async () => {
      const closed = await testFolder();
      await chmod(closed, 0o700);
      const dataDir = join(closed, 'data');
      await mkdir(dataDir);
      await expect(
        asOtherUser(
          await findPostgresBinaries(),
          NOBODY,
          dataDir,
          'unshare: not allowed',
        ),
      ).rejects.toThrow(
        /cannot be used \(unshare: not allowed\).*DATABASE_URL/,
      );
    });
  },
);
