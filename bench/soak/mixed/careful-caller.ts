import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  callUntilAnswered,
  type MadeCall,
} from '../../../test/faults/kill/workload.ts';
import {
  type CallAnswer,
  callGateway,
  type StackAccess,
  type StackAccount,
} from '../../../test/support/stack.ts';

const PAUSE_MS = 500;

/**
 * An account's client that goes on until it knows what came of each call, and
 * keeps count.
 */
export interface CarefulCaller {
  readonly account: StackAccount;
  /**
   * Calls that were answered, and those that were repeated because there was no
   * answer.
   */
  readonly counts: { answered: number; unanswered: number };
  /** A POST under an idempotency key, repeated until it has succeeded. */
  post(path: string, body?: unknown): Promise<MadeCall>;
  /**
   * A POST that steers; a 409 means that there is nothing to steer, or that an
   * earlier try did it. One with Retry-After means that the earlier try is
   * still under way.
   */
  steer(path: string): Promise<CallAnswer>;
  /** A GET, repeated until the answer is 200. */
  get(path: string): Promise<CallAnswer['body']>;
  /**
   * A GET, repeated until the body is as wanted. Throws after the deadline with
   * the last body.
   */
  getUntil(
    path: string,
    wanted: (body: CallAnswer['body']) => boolean,
  ): Promise<CallAnswer['body']>;
}

export function createCarefulCaller(
  stack: StackAccess,
  account: StackAccount,
  deadlineAt: number,
): CarefulCaller {
  const counts = { answered: 0, unanswered: 0 };

  async function untilStatus(
    method: 'GET' | 'POST',
    path: string,
    isFinal: (answer: CallAnswer) => boolean,
    options: { idempotencyKey?: string } = {},
  ) {
    for (;;) {
      const answer = await callGateway(
        stack.connection,
        account,
        method,
        path,
        options,
      ).catch(() => undefined);
      if (answer === undefined) counts.unanswered += 1;
      else counts.answered += 1;
      if (answer !== undefined && isFinal(answer)) return answer;
      if (Date.now() > deadlineAt)
        throw new Error(
          `${method} ${path}: ${answer === undefined ? 'no answer' : JSON.stringify(answer.body)}`,
        );
      await sleep(PAUSE_MS);
    }
  }
  const get = async (path: string) =>
    (await untilStatus('GET', path, ({ status }) => status === 200)).body;

  return {
    account,
    counts,
    async post(path, body) {
      const made = await callUntilAnswered(
        stack,
        account,
        path,
        body,
        deadlineAt,
      );
      counts.answered += 1;
      counts.unanswered += made.unanswered;
      return made;
    },
    steer: (path) =>
      untilStatus(
        'POST',
        path,
        ({ status, headers }) =>
          status < 300 ||
          (status === 409 && headers['retry-after'] === undefined),
        { idempotencyKey: randomUUID() },
      ),
    get,
    async getUntil(path, wanted) {
      for (;;) {
        const body = await get(path);
        if (wanted(body)) return body;
        if (Date.now() > deadlineAt)
          throw new Error(`GET ${path}: still ${JSON.stringify(body)}`);
        await sleep(PAUSE_MS);
      }
    },
  };
}

/** Whether a network query in a response of E3 has ended. */
export const hasQueryEnded = ({ status }: { status: string }): boolean =>
  ['completed', 'partial', 'failed'].includes(status);

/** Posts under an idempotency key; resolves with the body of the answer. */
export type Post = (
  path: string,
  body?: unknown,
) => Promise<MadeCall['answer']['body']>;
