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
  running: RunningPart;
  /** Ends when the group stops. */
  watch: Promise<void>;
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

  /** Throws what the part's first start throws: only a part that has once served is started again. */
  async start<R extends RunningPart>(part: Part<R>): Promise<R> {
    const { signal } = this.#stopping;
    if (signal.aborted) throw new StoppedError();
    const running = await part.start(signal);
    const member: Member = { name: part.name, running, watch: Promise.resolve() };
    this.#members.push(member);
    member.watch = this.#keepRunning(part, member);
    if (signal.aborted) {
      await running.stop();
      throw new StoppedError();
    }
    return running;
  }

  /** Pids by the name of the part. */
  pids(): Record<string, number> {
    return Object.fromEntries(this.#members.map(({ name, running }) => [name, running.pid]));
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
        await member.running.stop();
        await member.watch;
      } catch (error) {
        this.#options.log(`${member.name} could not be stopped: ${messageOf(error)}`);
      }
    }
  }

  async #keepRunning(part: Part, member: Member): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs = this.#options.backOffMs;
    for (;;) {
      const startedAt = Date.now();
      const status = await member.running.exited;
      if (signal.aborted) return;
      if (Date.now() - startedAt > this.#options.soundAfterMs) waitMs = this.#options.backOffMs;
      this.#options.log(`${part.name} ${describeExit(status)}; starting it again`);
      for (let started = false; !started; waitMs = Math.min(waitMs * 2, this.#options.backOffMaxMs)) {
        await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        started = await this.#startAgain(part, member);
      }
    }
  }

  async #startAgain(part: Part, member: Member): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      const running = await part.start(signal);
      member.running = running;
      if (signal.aborted) await running.stop();
      else this.#options.log(`${part.name} runs again`);
      return true;
    } catch (error) {
      if (!signal.aborted) this.#options.log(`${part.name} does not start: ${messageOf(error)}`);
      return false;
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
