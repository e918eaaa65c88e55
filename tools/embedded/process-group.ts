import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit, type RunningPart } from './child-process.ts';

/** One process of the stack. */
export interface StackPart<R extends RunningPart = RunningPart> {
  /** Name for log lines, such as `gateway`. */
  readonly name: string;
  /**
   * Starts the part and resolves when it serves. When `signal` is aborted,
   * leaves nothing running and rejects.
   */
  start(signal: AbortSignal): Promise<R>;
}

export interface ProcessGroupOptions {
  /**
   * Receives one line for each event: a part died, is running again, did not
   * start.
   */
  log(line: string): void;
  /**
   * First wait before a part that died is restarted; doubles up to
   * `backOffMaxMs`.
   */
  backOffMs?: number;
  backOffMaxMs?: number;
  /**
   * A part that ran this long is considered healthy again: its next wait is the
   * first one.
   */
  soundAfterMs?: number;
}

/** Thrown by `start` while the group is being stopped. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';

  constructor() {
    super('The stack is being stopped.');
  }
}

interface Member {
  readonly name: string;
  /** Undefined during the first start. */
  running: RunningPart | undefined;
  /**
   * Resolves when the group has stopped, or when the first start has failed.
   */
  watch: Promise<unknown>;
  /**
   * Ends the wait before the next start; undefined when there is no such wait.
   */
  wake: (() => void) | undefined;
  /** Stopped for good. */
  isRemoved: boolean;
  /**
   * Set during a requested restart: that is not a failure, so there is no wait.
   */
  isRestarting: boolean;
}

const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 30_000;
const SOUND_AFTER_MS = 60_000;

/**
 * Starts parts in order, restarts a part that dies (without limit, after
 * growing waits), and stops all parts in reverse order, so that the
 * dependencies of a part are still there while it shuts down.
 */
export class ProcessGroup {
  readonly #options: Required<ProcessGroupOptions>;
  readonly #members: Member[] = [];
  readonly #stopping = new AbortController();
  #stopped: Promise<void> | undefined;

  constructor(options: ProcessGroupOptions) {
    this.#options = {
      backOffMs: BACK_OFF_MS,
      backOffMaxMs: BACK_OFF_MAX_MS,
      soundAfterMs: SOUND_AFTER_MS,
      ...options,
    };
  }

  /**
   * Starts a part. Several calls may run at the same time; their order
   * determines the order of stopping. Throws the error of the part's first
   * start: only a part that has served once is restarted.
   */
  async start<R extends RunningPart>(part: StackPart<R>): Promise<R> {
    if (this.#stopping.signal.aborted) throw new StoppedError();
    const member: Member = {
      name: part.name,
      running: undefined,
      watch: Promise.resolve(),
      wake: undefined,
      isRemoved: false,
      isRestarting: false,
    };
    this.#members.push(member);
    const starting = this.#startFirst(part, member);
    member.watch = starting.catch(() => undefined);
    const running = await starting;
    member.watch = this.#keepRunning(part, member, running);
    return running;
  }

  async #startFirst<R extends RunningPart>(
    part: StackPart<R>,
    member: Member,
  ): Promise<R> {
    const { signal } = this.#stopping;
    const running = await part.start(signal);
    member.running = running;
    if (!signal.aborted) return running;
    await running.stop();
    throw new StoppedError();
  }

  /** Pids by part name. */
  pids(): Record<string, number> {
    return Object.fromEntries(
      this.#members.flatMap(({ name, running }) =>
        running === undefined ? [] : [[name, running.pid]],
      ),
    );
  }

  /**
   * Stops a part, which is then started again at once. If it is waiting for its
   * next start, the wait ends.
   */
  async restart(name: string): Promise<void> {
    const member = this.#members.find((known) => known.name === name);
    if (member === undefined || this.#stopping.signal.aborted) return;
    member.isRestarting = true;
    if (member.wake === undefined) await member.running?.stop();
    else member.wake();
  }

  /** Stops a part for good. */
  async remove(name: string): Promise<void> {
    const member = this.#members.find((known) => known.name === name);
    if (member === undefined) return;
    member.isRemoved = true;
    member.wake?.();
    await member.running?.stop();
    await member.watch;
    const index = this.#members.indexOf(member);
    if (index >= 0) this.#members.splice(index, 1);
  }

  /**
   * Stops all parts in reverse order; a part that takes too long is killed.
   * Never rejects.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    this.#stopping.abort();
    for (const member of this.#members.toReversed()) {
      try {
        await member.running?.stop();
        await member.watch;
      } catch (error) {
        this.#options.log(
          `${member.name} could not be stopped: ${messageOf(error)}`,
        );
      }
    }
  }

  async #keepRunning(
    part: StackPart,
    member: Member,
    first: RunningPart,
  ): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = this.#options.backOffMs;
    let running = first;
    for (;;) {
      const startedAt = Date.now();
      const status = await running.exited;
      if (signal.aborted || member.isRemoved) return;
      if (Date.now() - startedAt > this.#options.soundAfterMs)
        waitMs = this.#options.backOffMs;
      if (!member.isRestarting)
        this.#options.log(
          `${part.name} ${describeExit(status)}; restarting it`,
        );
      for (;;) {
        if (!member.isRestarting) await this.#pause(member, waitMs);
        if (signal.aborted || member.isRemoved) return;
        waitMs = member.isRestarting
          ? this.#options.backOffMs
          : Math.min(waitMs * 2, this.#options.backOffMaxMs);
        member.isRestarting = false;
        const again = await this.#startAgain(part);
        if (again === undefined) continue;
        member.running = running = again;
        break;
      }
      // A restart was requested while it was starting.
      if (signal.aborted || member.isRestarting || member.isRemoved)
        await running.stop();
      else this.#options.log(`${part.name} is running again`);
    }
  }

  async #pause(member: Member, waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const waiting = new AbortController();
    const wake = () => waiting.abort();
    member.wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    await sleep(waitMs, undefined, { signal: waiting.signal }).catch(
      () => undefined,
    );
    signal.removeEventListener('abort', wake);
    member.wake = undefined;
  }

  async #startAgain(part: StackPart): Promise<RunningPart | undefined> {
    const { signal } = this.#stopping;
    try {
      return await part.start(signal);
    } catch (error) {
      if (!signal.aborted)
        this.#options.log(`${part.name} did not start: ${messageOf(error)}`);
      return undefined;
    }
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
