import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import {
  type EntryPoint,
  type RunningPart,
  startChild,
  startNodeProcess,
  stopLeftOverProcesses,
  writePidFile,
} from '../../tools/embedded/child-process.ts';
import {
  ProcessGroup,
  StoppedError,
} from '../../tools/embedded/process-group.ts';
import {
  killAndWait,
  runHolder,
  testFolder,
} from '../support/postgres-tools.ts';

const CHILD: EntryPoint = `file:${new URL('../support/stack-child.ts', import.meta.url).pathname}`;

/** A process that does nothing, and notes when it is stopped. */
async function startSleeper(
  logFile: string,
  onStop: () => void = () => undefined,
): Promise<RunningPart> {
  const child = await startChild({
    file: 'sleep',
    args: ['600'],
    logFile,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 5_000 }],
  });
  onTestFinished(() => child.stop());
  return {
    pid: child.pid,
    exited: child.exited,
    stop: () => {
      onStop();
      return child.stop();
    },
  };
}

function makeGroup() {
  const lines: string[] = [];
  const group = new ProcessGroup({
    log: (line) => lines.push(line),
    backOffMs: 10,
    backOffMaxMs: 40,
  });
  onTestFinished(() => group.stop());
  return { group, lines };
}

describe('a group of processes', () => {
  test('stops its parts in reverse order, and leaves none running', async () => {
    const logFile = `${await testFolder()}/log`;
    const { group } = makeGroup();
    const stopped: string[] = [];
    const pids: number[] = [];
    for (const name of ['database', 'server', 'worker'])
      pids.push(
        (
          await group.start({
            name,
            start: () => startSleeper(logFile, () => stopped.push(name)),
          })
        ).pid,
      );
    expect(Object.keys(group.pids())).toEqual(['database', 'server', 'worker']);
    await Promise.all([group.stop(), group.stop()]);
    expect(stopped).toEqual(['worker', 'server', 'database']);
    for (const pid of pids) expect(await commandLineOf(pid)).toBeUndefined();
    await expect(
      group.start({ name: 'late', start: () => startSleeper(logFile) }),
    ).rejects.toThrow(StoppedError);
  });

  test('starts a part again that dies alone, and goes on trying while it will not start', async () => {
    const logFile = `${await testFolder()}/log`;
    const { group, lines } = makeGroup();
    let starts = 0;
    const first = await group.start({
      name: 'worker',
      start: async () => {
        starts += 1;
        if (starts > 1 && starts < 6) throw new Error('not yet');
        return startSleeper(logFile);
      },
    });
    process.kill(first.pid, 'SIGKILL');
    await vi.waitFor(
      () => expect(lines.at(-1)).toBe('worker is running again'),
      240_000,
    );
    expect(lines[0]).toBe('worker was ended by SIGKILL; restarting it');
    expect(
      lines.filter((line) => line === 'worker did not start: not yet'),
    ).toHaveLength(4);
    const { worker: pid } = group.pids();
    expect(pid).not.toBe(first.pid);
    process.kill(Number(pid), 'SIGKILL');
    await vi.waitFor(() => expect(group.pids().worker).not.toBe(pid), 240_000);
  });

  test('restarts a part at once when asked to, also one that waits for its next start', async () => {
    const logFile = `${await testFolder()}/log`;
    const lines: string[] = [];
    const hour = 3_600_000;
    const group = new ProcessGroup({
      log: (line) => lines.push(line),
      backOffMs: hour,
      backOffMaxMs: hour,
    });
    onTestFinished(() => group.stop());
    let broken = false;
    const first = await group.start({
      name: 'worker',
      start: async () => {
        if (broken) throw new Error('a syntax error');
        return startSleeper(logFile);
      },
    });
    await group.restart('worker');
    await vi.waitFor(
      () => expect(lines).toEqual(['worker is running again']),
      240_000,
    );
    expect(group.pids().worker).not.toBe(first.pid);
    broken = true;
    await group.restart('worker');
    await vi.waitFor(
      () => expect(lines.at(-1)).toBe('worker did not start: a syntax error'),
      240_000,
    );
    broken = false;
    await group.restart('worker');
    await vi.waitFor(
      () => expect(lines.at(-1)).toBe('worker is running again'),
      240_000,
    );
  });

  test('removes a part for good, also one that waits for its next start, and the others run on', async () => {
    const logFile = `${await testFolder()}/log`;
    const { group } = makeGroup();
    const start = () => startSleeper(logFile);
    let mayStart = true;
    const waiting = await group.start({
      name: 'waiting',
      start: () => (mayStart ? start() : Promise.reject(new Error('not now'))),
    });
    const running = await group.start({ name: 'running', start });
    const other = await group.start({ name: 'other', start });
    mayStart = false;
    process.kill(waiting.pid, 'SIGKILL');
    await waiting.exited;
    await Promise.all([group.remove('running'), group.remove('waiting')]);
    expect(await commandLineOf(running.pid)).toBeUndefined();
    expect(group.pids()).toEqual({ other: other.pid });
    await group.stop();
  });

  test('can be stopped while a dead part waits to be started again', async () => {
    const logFile = `${await testFolder()}/log`;
    const lines: string[] = [];
    const group = new ProcessGroup({
      log: (line) => lines.push(line),
      backOffMs: 3_600_000,
      backOffMaxMs: 3_600_000,
    });
    let starts = 0;
    const part = await group.start({
      name: 'worker',
      start: () => {
        starts += 1;
        return startSleeper(logFile);
      },
    });
    process.kill(part.pid, 'SIGKILL');
    await vi.waitFor(() => expect(lines).toHaveLength(1), 240_000);
    await group.stop();
    expect(starts).toBe(1);
  });

  test('leaves nothing of a part that was still starting when the group is stopped', async () => {
    const logFile = `${await testFolder()}/log`;
    const { group } = makeGroup();
    let pid = 0;
    const starting = group.start({
      name: 'slow',
      start: async (signal) => {
        while (!signal.aborted) await sleep(5);
        const part = await startSleeper(logFile);
        pid = part.pid;
        return part;
      },
    });
    await Promise.all([
      group.stop(),
      expect(starting).rejects.toThrow(StoppedError),
    ]);
    expect(await commandLineOf(pid)).toBeUndefined();
  });

  test('gives up the start of a part that throws, with its reason', async () => {
    const { group } = makeGroup();
    const start = () => Promise.reject(new Error('no disk'));
    await expect(group.start({ name: 'database', start })).rejects.toThrow(
      'no disk',
    );
  });
});

describe('one of our processes', () => {
  test('is given only the variables it is meant to have, and tells when it serves', async () => {
    const dataDir = await testFolder();
    const child = await startNodeProcess({
      name: 'child',
      entry: CHILD,
      dataDir,
      env: { GREETING: 'hello' },
    });
    onTestFinished(() => child.stop());
    expect(child.info).toEqual({ greeting: 'hello' });
    if (process.platform === 'linux')
      expect(
        await readFile(`/proc/${child.pid}/environ`, 'utf8'),
      ).not.toContain('VITEST');
    await child.stop();
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('that does not start is an error with what it logged last', async () => {
    const dataDir = await testFolder();
    const env = { REFUSE: 'the key is missing' };
    await expect(
      startNodeProcess({ name: 'child', entry: CHILD, dataDir, env }),
    ).rejects.toThrow(
      /^The child did not start: could not start: the key is missing \(log: .*child\.log\)$/,
    );
  });

  test('goes by itself when its supervisor is killed', async () => {
    const dataDir = await testFolder();
    const { holder, message } = await runHolder<{ pid: number }>(
      './stack-child-holder.ts',
      [dataDir],
    );
    expect(await commandLineOf(message.pid)).toContain(dataDir);
    await killAndWait(holder);
    await vi.waitFor(
      async () => expect(await commandLineOf(message.pid)).toBeUndefined(),
      240_000,
    );
  });

  test('that a killed supervisor left behind is ended by the next run on the folder, and no other', async () => {
    const mine = await testFolder();
    const others = await testFolder();
    const start = (dataDir: string) =>
      startNodeProcess({ name: 'child', entry: CHILD, dataDir, env: {} });
    const [left, stranger] = await Promise.all([start(mine), start(others)]);
    onTestFinished(() =>
      Promise.all([left.stop(), stranger.stop()]).then(() => undefined),
    );
    // As if the system had given the pid that we wrote down to somebody else.

    await writePidFile(mine, 'another', stranger.pid);
    await stopLeftOverProcesses(mine);
    expect(await commandLineOf(left.pid)).toBeUndefined();
    expect(await commandLineOf(stranger.pid)).toContain(others);
  });
});
