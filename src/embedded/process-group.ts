import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit, type RunningPart } from './running-part.ts';

/** One process of the stack. */
export interface Part<R extends RunningPart = RunningPart> {
  /** For log lines: `gateway`. */
  readonly name: string;
  /** Starts it and resolves when it serves. When `signal` fires it leaves nothing running and rejects. */
  start(signal: AbortSignal): Promise<R>;
}

export interface ProcessGroupOptions {
  /** Takes one line a happening: a part died, came back, would not start. */
  log(line: string): void;
  /** First wait before a part that died is started again; doubles up to `backOffMaxMs`. */
  backOffMs?: number;
  backOffMaxMs?: number;
  /** A part that ran this long is taken for sound again: its next wait is the first one. */
  soundAfterMs?: number;
}

/** Thrown by `start` when the group is being stopped. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';

  constructor() {
    super('The stack is being stopped.');
  }
}

interface Member {
  readonly name: string;
  /** Undefined while it starts for the first time. */
  running: RunningPart | undefined;
  /** Ends when the group has stopped, or the first start failed. */
  watch: Promise<unknown>;
  /** Ends the wait before the next start; undefined while there is none. */
  wake: (() => void) | undefined;
  /** It was ended to be started again: no fault, so no longer wait. */
  isRestarting: boolean;
}

const BACK_OFF_MS = 500;
const BACK_OFF_MAX_MS = 30_000;
const SOUND_AFTER_MS = 60_000;

/**
 * Starts parts in order, starts a part again that dies alone (for ever, ever more slowly), and stops all of them in
 * reverse order, so that each still has what it depends on while it finishes.
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
   * Several may start at once; the order of the calls is the one that counts for stopping. Throws what the part's
   * first start throws: only a part that has once served is started again.
   */
  async start<R extends RunningPart>(part: Part<R>): Promise<R> {
    if (this.#stopping.signal.aborted) throw new StoppedError();
    const member: Member = {
      name: part.name,
      running: undefined,
      watch: Promise.resolve(),
      wake: undefined,
      isRestarting: false,
    };
    this.#members.push(member);
    const starting = this.#startFirst(part, member);
    member.watch = starting.catch(() => undefined);
    const running = await starting;
    member.watch = this.#keepRunning(part, member, running);
    return running;
  }

  async #startFirst<R extends RunningPart>(part: Part<R>, member: Member): Promise<R> {
    const { signal } = this.#stopping;
    const running = await part.start(signal);
    member.running = running;
    if (!signal.aborted) return running;
    await running.stop();
    throw new StoppedError();
  }

  /** Pids by the name of the part. */
  pids(): Record<string, number> {
    return Object.fromEntries(
      this.#members.flatMap(({ name, running }) => (running === undefined ? [] : [[name, running.pid]])),
    );
  }

  /** Ends a part, which is then started again at once; a part that waits for its next start does not wait longer. */
  async restart(name: string): Promise<void> {
    const member = this.#members.find((known) => known.name === name);
    if (member === undefined || this.#stopping.signal.aborted) return;
    member.isRestarting = true;
    if (member.wake === undefined) await member.running?.stop();
    else member.wake();
  }

  /** Stops all parts, the last one first; each by force when it takes too long. Never rejects. */
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
        this.#options.log(`${member.name} could not be stopped: ${messageOf(error)}`);
      }
    }
  }

  async #keepRunning(part: Part, member: Member, first: RunningPart): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = this.#options.backOffMs;
    let running = first;
    for (;;) {
      const startedAt = Date.now();
      const status = await running.exited;
      if (signal.aborted) return;
      if (Date.now() - startedAt > this.#options.soundAfterMs) waitMs = this.#options.backOffMs;
      if (!member.isRestarting) this.#options.log(`${part.name} ${describeExit(status)}; starting it again`);
      for (;;) {
        if (!member.isRestarting) await this.#pause(member, waitMs);
        if (signal.aborted) return;
        waitMs = member.isRestarting
          ? this.#options.backOffMs
          : Math.min(waitMs * 2, this.#options.backOffMaxMs);
        member.isRestarting = false;
        const again = await this.#startAgain(part);
        if (again === undefined) continue;
        member.running = running = again;
        break;
      }
      // Its code has changed while it started.
      if (signal.aborted || member.isRestarting) await running.stop();
      else this.#options.log(`${part.name} runs again`);
    }
  }

  async #pause(member: Member, waitMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const waiting = new AbortController();
    const wake = () => waiting.abort();
    member.wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    await sleep(waitMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    signal.removeEventListener('abort', wake);
    member.wake = undefined;
  }

  async #startAgain(part: Part): Promise<RunningPart | undefined> {
    const { signal } = this.#stopping;
    try {
      return await part.start(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.log(`${part.name} does not start: ${messageOf(error)}`);
      return undefined;
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
