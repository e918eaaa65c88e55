import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { SourceType } from '../../../src/contract/primitives.ts';
import {
  type CallAnswer,
  callGateway,
  type Received,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../../support/stack.ts';
import { killPart } from '../kill/kill-part.ts';
import { until } from '../kill/until.ts';
import {
  type HeldJob,
  type HeldSources,
  startHeldSources,
} from './held-sources.ts';
import { type Arrival, judgeHistory, type RecordedCall } from './history.ts';

const ANSWER_TIMEOUT_MS = 60_000;
/** Above the wait for the next poll, on a busy machine. */
const SETTLE_TIMEOUT_MS = 90_000;
/**
 * What a worker takes at most to store that a source has accepted its request,
 * on a busy machine.
 */
const STORING_MS = 5_000;

export interface ModelStack {
  readonly stack: TestStack;
  readonly sources: HeldSources;
  stop(): Promise<void>;
}

/** A whole stack whose sources answer when a model says so. */
export async function startModelStack(dataDir: string): Promise<ModelStack> {
  const sources = await startHeldSources();
  try {
    const stack = await startTestStack({
      dataDir,
      outside: { sources: sources.environment },
    });
    const stop = async () => {
      await stack.stop();
      await sources.close();
    };
    return { stack, sources, stop };
  } catch (error) {
    await sources.close();
    throw error;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
interface CallOptions {
  body?: unknown;
  idempotencyKey?: string;
}

/**
 * One account of the stack, as its caller sees it: a model's commands are
 * carried out here and nowhere else.
 */
export interface World {
  readonly stack: TestStack;
  readonly sources: HeldSources;
  readonly account: StackAccount;
  /** Every call that was answered. */
  readonly history: readonly RecordedCall[];
  /** A call that is repeated until it is answered; a 503 is no answer. */
  call(
    method: Method,
    path: string,
    options?: CallOptions,
  ): Promise<CallAnswer>;
  /** Expects one of these statuses. */
  mustCall(
    statuses: readonly number[],
    method: Method,
    path: string,
    options?: CallOptions,
  ): Promise<CallAnswer>;
  /**
   * A POST that steers. After a try that may have been carried out without an
   * answer, a 409 is fine, too.
   */
  steer(path: string, expected: 200 | 404 | 409): Promise<void>;
  /** Reads until it is as the model says. Throws with both when it never is. */
  eventually<T>(
    what: string,
    read: () => Promise<T>,
    expected: T,
  ): Promise<void>;
  /** The job of an attempt that is stored as accepted. */
  jobOf(
    requestId: string,
    source: SourceType,
    attempt: number,
    family: string,
  ): Promise<HeldJob>;
  /** Webhooks about these requests, each message once. */
  webhooks(requestIds: readonly string[]): Promise<Received[]>;
  /** Does nothing in a run without kills. */
  kill(part: 'worker' | 'gateway'): Promise<void>;
  /**
   * Whether a worker may have been killed before it stored that the source
   * accepted this job: what it never learned of.
   */
  mayBeUnknown(job: HeldJob): boolean;
}

async function createWorld(
  { stack, sources }: ModelStack,
  kills: boolean,
): Promise<World> {
  const account = await stack.addAccount();
  const history: RecordedCall[] = [];
  /** From shortly before a worker was killed until that was done. */
  const killed: { fromMs: number; toMs: number }[] = [];

  async function answered(
    method: Method,
    path: string,
    options: CallOptions = {},
  ) {
    const deadlineAt = Date.now() + ANSWER_TIMEOUT_MS;
    const fromMs = Date.now();
    for (let unanswered = 0; ; unanswered += 1) {
      const answer = await callGateway(
        stack.connection,
        account,
        method,
        path,
        options,
      ).catch(() => undefined);
      if (answer !== undefined && answer.status !== 503) {
        history.push({
          method,
          path,
          status: answer.status,
          body: answer.body,
          fromMs,
          toMs: Date.now(),
        });
        return { answer, unanswered };
      }
      if (Date.now() > deadlineAt)
        throw new Error(`${method} ${path}: ${answer?.status ?? 'no answer'}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  const fail = (
    call: string,
    expected: unknown,
    { status, body }: CallAnswer,
  ): never => {
    throw new Error(
      `${call}: expected ${expected}, got ${status} ${JSON.stringify(body)}`,
    );
  };

  const world: World = {
    stack,
    sources,
    account,
    history,
    call: async (...call) => (await answered(...call)).answer,
    async mustCall(statuses, ...call) {
      const { answer } = await answered(...call);
      return statuses.includes(answer.status)
        ? answer
        : fail(call.slice(0, 2).join(' '), statuses, answer);
    },
    async steer(path, expected) {
      const { answer, unanswered } = await answered('POST', path);
      const isFine =
        answer.status === expected || (answer.status === 409 && unanswered > 0);
      if (!isFine) fail(`POST ${path}`, expected, answer);
    },
    async eventually(what, read, expected) {
      let last: unknown = 'nothing';
      const isSo = await until(
        async () => {
          last = await read();
          return isDeepStrictEqual(last, expected);
        },
        { timeoutMs: SETTLE_TIMEOUT_MS, everyMs: 50 },
      );
      if (!isSo)
        throw new Error(
          `${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(last)}`,
        );
    },
    async jobOf(requestId, source, attempt, family) {
      let job: HeldJob | undefined;
      const isAccepted = await until(
        async () => {
          const { body } = await world.call(
            'GET',
            `network/query/${requestId}/timeline`,
          );
          const entries = body.timeline as {
            kind: string;
            source?: string;
            attempt?: number;
          }[];
          // A worker that was killed may have asked twice; the newest job is
          // the one that was stored.
          job = sources
            .openJobs(family)
            .findLast((each) => each.source === source);
          return entries.some(
            (each) =>
              each.kind === 'accepted' &&
              each.source === source &&
              each.attempt === attempt,
          );
        },
        { timeoutMs: SETTLE_TIMEOUT_MS, everyMs: 50 },
      );
      if (!isAccepted || job === undefined)
        throw new Error(`${source} was not asked (attempt ${attempt})`);
      return job;
    },
    async webhooks(requestIds) {
      const ids = new Set(requestIds);
      const lines = (await stack.received()).filter(({ requestId }) =>
        ids.has(requestId ?? ''),
      );
      return [...new Map(lines.map((line) => [line.messageId, line])).values()];
    },
    async kill(part) {
      if (!kills) return;
      const fromMs = Date.now() - STORING_MS;
      await killPart(stack, part);
      if (part === 'worker') await killPart(stack, 'worker-background');
      if (part === 'worker') killed.push({ fromMs, toMs: Date.now() });
    },
    mayBeUnknown: ({ acceptedAtMs }) =>
      killed.some(
        ({ fromMs, toMs }) => fromMs <= acceptedAtMs && acceptedAtMs <= toMs,
      ),
  };
  return world;
}

/**
 * A body of E4 about somebody whom no other call describes. The last name is
 * one word, by which a source knows the person.
 */
export function newPerson(): { lastName: string; [member: string]: unknown } {
  const letters = Array.from({ length: 12 }, () =>
    String.fromCharCode(97 + randomInt(26)),
  ).join('');
  return {
    firstName: 'Pat',
    lastName: `M${letters}`,
    dob: '1980-04-05',
    genderAtBirth: 'F',
    address: [
      {
        addressLine1: '12 Beacon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
        country: 'USA',
      },
    ],
  };
}

/** A command that shows itself with its arguments in a counterexample. */
export function command<M extends object>(
  name: string,
  isPossible: (model: Readonly<M>) => boolean,
  run: (model: M, world: World) => Promise<void>,
): fc.AsyncCommand<M, World> {
  return { toString: () => name, check: isPossible, run };
}

const kill = fc
  .constantFrom<'worker' | 'gateway'>('worker', 'gateway')
  .map((part) =>
    command<object>(
      `kill the ${part}`,
      () => true,
      (_model, world) => world.kill(part),
    ),
  );

/** Every webhook about the account, in the order in which they came. */
async function arrivalsOf({ stack, account }: World): Promise<Arrival[]> {
  const statement = 'select id, seq from event where account_id = $1';
  const rows = await stack.rows<{ id: string; seq: string }>(statement, [
    account.accountId,
  ]);
  const seqs = new Map(rows.map(({ id, seq }) => [id, Number(seq)]));
  return (await stack.received()).flatMap((line) => {
    const seq = seqs.get(line.messageId);
    return seq === undefined ? [] : [{ ...line, seq }];
  });
}

/**
 * A model of one part of the exchange: what a caller must see after each
 * command.
 */
export interface Model<M extends object> {
  begin(world: World): Promise<M>;
  commands: fc.Arbitrary<fc.AsyncCommand<M, World>>[];
  /**
   * Compares everything that the model knows with what the public interface
   * shows; run after each command.
   */
  compare(model: M, world: World): Promise<void>;
  /** Ends what is open and judges what can only be judged then. */
  end(model: M, world: World): Promise<void>;
}

export interface ModelRunOptions {
  seed: number;
  commandsMax: number;
  /** Whether the worker and the gateway are killed in between. */
  kills: boolean;
  /** Asked before each run, with what has been done. */
  isOver: (done: ModelRun) => boolean;
}

export interface ModelRun {
  runs: number;
  commands: number;
}

/**
 * Carries out random commands, each run in an account of its own, until
 * `isOver` says so. Rejects with the commands after which model and exchange
 * differ, and with the seed that repeats them.
 */
export async function checkModel<M extends object>(
  modelStack: ModelStack,
  { begin, commands, compare, end }: Model<M>,
  { seed, commandsMax, kills, isOver }: ModelRunOptions,
): Promise<ModelRun> {
  const done = { runs: 0, commands: 0 };
  const compared = [...commands, ...(kills ? [kill] : [])].map((each) =>
    each.map((inner) => ({
      ...inner,
      async run(model: M, world: World) {
        await inner.run(model, world);
        await compare(model, world);
        done.commands += 1;
      },
    })),
  );
  const chosen = fc.commands<M, World, false>(compared, {
    maxCommands: commandsMax,
    size: 'max',
  });
  const property = fc.asyncProperty(chosen, async (sequence) => {
    const world = await createWorld(modelStack, kills);
    const model = await begin(world);
    await fc.asyncModelRun(() => ({ model, real: world }), sequence);
    await end(model, world);
    const faults = judgeHistory(world.history, await arrivalsOf(world));
    if (faults.length > 0)
      throw new Error(
        `The client saw what it must not: ${faults.slice(0, 5).join('; ')}`,
      );
  });
  // A counterexample is read as it is: to shrink it would take many slow runs.
  for (; !isOver(done); done.runs += 1)
    await fc.assert(property, {
      seed: seed + done.runs,
      numRuns: 1,
      endOnFailure: true,
    });
  return done;
}
