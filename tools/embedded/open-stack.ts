import { appendFileSync, mkdirSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  removeConnection,
  type StackConnection,
  writeConnection,
} from '../../src/local-stack/connection-file.ts';
import { lockDataFolder } from '../../src/local-stack/stack-lock.ts';
import {
  type EntryPoint,
  startNodeProcess,
  stopLeftOverProcesses,
} from './child-process.ts';
import { stopLeftOverPostgres } from './postgres.ts';
import { runsAsOtherUser } from './postgres-launcher.ts';
import { ProcessGroup } from './process-group.ts';
import type { Environment } from './stack-environment.ts';
import type { Closer } from './stack-servers.ts';
import type { StartListener } from './start-progress.ts';
import { stopLeftOverTemporalServer } from './temporal-server.ts';
import type { StackTemporalUi } from './temporal-ui.ts';

export interface OpenStackOptions {
  dataDir: string;
  log?: ((line: string) => void) | undefined;
  onStart?: StartListener | undefined;
  /** Whether PostgreSQL is a part of it. */
  hasPostgres: boolean;
  signal?: AbortSignal | undefined;
}

/** One of our processes. */
export interface NodePart {
  name: string;
  /** Entry point below `src`. */
  entry: EntryPoint;
  environment: Environment;
  nodeArgs?: readonly string[] | undefined;
}

/**
 * Where the parts of a stack are started: its locked data folder, and the group
 * that keeps them running.
 */
export interface StackSite {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly group: ProcessGroup;
  /** Functions that are called after all parts have stopped. */
  readonly closers: Closer[];
  /** Shows that a part is being started. */
  step<T>(part: string, work: Promise<T>): Promise<T>;
  /**
   * Starts one of our processes. `part` is read again whenever it is started
   * again.
   */
  startNode(name: string, part: () => Omit<NodePart, 'name'>): Promise<unknown>;
}

export interface StartedParts {
  connection: StackConnection;
  ui?: StackTemporalUi | undefined;
}

/**
 * Locks a data folder, ends what a killed run left there, starts parts, and
 * writes how to reach them. If one does not start, stops the others and throws
 * its reason. Throws DataFolderInUseError.
 */
export async function openStack(
  options: OpenStackOptions,
  startParts: (site: StackSite) => Promise<StartedParts>,
) {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  await closeToOthers(
    dataDir,
    options.hasPostgres && (await runsAsOtherUser()),
  );
  const release = await lockDataFolder(dataDir);
  const log = createStackLog(dataDir, options.log);
  const group = new ProcessGroup({ log });
  const closers: Closer[] = [];
  const stop = async () => {
    await removeConnection(dataDir);
    await group.stop();
    await Promise.all(closers.splice(0).map((close) => close()));
    await release();
  };
  const onAbort = () => void group.stop();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  let onStart = options.onStart;
  try {
    options.signal?.throwIfAborted();
    await stopLeftOverProcesses(dataDir);
    await stopLeftOverTemporalServer(join(dataDir, 'temporal'));
    await stopLeftOverPostgres(join(dataDir, 'postgres'));
    const { connection, ui } = await startParts(
      siteOf({ dataDir, log, group, closers }, (part) => onStart?.(part)),
    );
    // What is started later shows in the log.
    onStart = undefined;
    await writeConnection(dataDir, connection);
    let stopped: Promise<void> | undefined;
    ui?.onNextLink(async (temporalUiLink) => {
      if (stopped === undefined)
        await writeConnection(dataDir, { ...connection, temporalUiLink });
    });
    return {
      connection,
      group,
      /**
       * Stops all parts in reverse order. Never rejects; may be called again.
       */
      stop: (): Promise<void> => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function siteOf(
  base: Pick<StackSite, 'dataDir' | 'log' | 'group' | 'closers'>,
  onStart: (part: string) => (() => void) | undefined,
): StackSite {
  const step = async <T>(part: string, work: Promise<T>): Promise<T> => {
    const onReady = onStart(part);
    const done = await work;
    onReady?.();
    return done;
  };
  const { group, dataDir } = base;
  return {
    ...base,
    step,
    startNode: (name, part) => {
      const start = (signal: AbortSignal) => {
        const { entry, environment, nodeArgs } = part();
        return startNodeProcess({
          name,
          entry,
          dataDir,
          env: environment,
          nodeArgs: nodeArgs ?? [],
          signal,
        });
      };
      return step(name, group.start({ name, start }));
    },
  };
}

/**
 * Waits for all promises even when one rejects, so that all parts have started
 * before they are stopped.
 */
export async function allOrThrow<T extends readonly unknown[]>(
  promises: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as unknown as T;
}

/** Permission bits of the group and of all other users. */
const OTHERS = 0o077;
/**
 * Marks a folder that all users write to, such as /tmp; its permissions are not
 * changed.
 */
const STICKY = 0o1000;
/**
 * The stack's own files; a data folder that the user chose may contain other
 * files too.
 */
const OURS =
  /^(postgres|temporal|blobs|simulator|logs|run|audit-heads|orchestrator-files|stack\.lock|.+\.json)$/;

/**
 * Removes the permissions of other users from the data folder and, where it was
 * open, from the stack's files in it. `passage`: PostgreSQL runs as another
 * user, who must be able to traverse the folder.
 */
async function closeToOthers(folder: string, passage: boolean): Promise<void> {
  const { mode } = await lstat(folder);
  if ((mode & OTHERS) === 0) return;
  if ((mode & STICKY) === 0)
    await chmod(folder, mode & (passage ? 0o711 : 0o700));
  const files = await readdir(folder, { withFileTypes: true });
  // A symbolic link may lead out of the folder; below these, chmod follows
  // none.
  const ours = files.filter(
    (file) => OURS.test(file.name) && !file.isSymbolicLink(),
  );
  const paths = ours.map(({ name }) => join(folder, name));
  // Files of PostgreSQL may belong to another user, who protects them.
  const change = runCommand('chmod', ['-R', 'go-rwx', '--', ...paths], {
    timeoutMs: CHMOD_TIMEOUT_MS,
  });
  await change.catch(() => undefined);
}

const CHMOD_TIMEOUT_MS = 60_000;

/**
 * Returns a function that appends a line to `logs/stack.log` in the data folder
 * and passes it to `next`.
 */
function createStackLog(
  dataDir: string,
  next?: (line: string) => void,
): (line: string) => void {
  const folder = join(dataDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return (line) => {
    // Synchronous: there are few lines, and each must be on disk before the
    // process may end.
    appendFileSync(
      join(folder, 'stack.log'),
      `${new Date().toISOString()} ${line}\n`,
      { mode: 0o600 },
    );
    next?.(line);
  };
}
