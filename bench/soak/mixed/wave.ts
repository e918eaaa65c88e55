import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type MadeCall,
  runWorkload,
  type Workload,
} from '../../../test/faults/kill/workload.ts';
import type { StackAccess, StackAccount } from '../../../test/support/stack.ts';
import {
  type CarefulCaller,
  createCarefulCaller,
  hasQueryEnded,
  type Post,
} from './careful-caller.ts';
import { type Imported, runImport } from './import.ts';
import { type Monitored, runMonitoring } from './monitoring.ts';

/** What the callers of one account did, and what they were promised by it. */
export interface Wave {
  number: number;
  caller: CarefulCaller;
  workload: Workload;
  /** A query whose lab is given up and asked again. */
  steered: string;
  consolidated: { requestId: string; patientId: string };
  messages: string[];
  imported: Imported;
  monitored: Monitored;
  /** Calls under an idempotency key: each must get its first answer again. */
  posts: MadeCall[];
}

/**
 * The mixed load of one fresh account: two onboardings, four patients created
 * and queried, an import with its sweep, a monitored cohort, consolidated data,
 * messages, and a query that is steered. Resolves when all of it has ended.
 */
export async function runWave(
  stack: StackAccess,
  number: number,
  { timeoutMs }: { timeoutMs: number },
): Promise<Wave> {
  const deadlineAt = Date.now() + timeoutMs;
  const account = await newAccount(stack, deadlineAt);
  const caller = createCarefulCaller(stack, account, deadlineAt);
  const folder = await mkdtemp(join(tmpdir(), 'exchange-wave-'));
  const posts: MadeCall[] = [];
  const post = async (path: string, body?: unknown) => {
    const made = await caller.post(path, body);
    posts.push(made);
    return made.answer.body;
  };
  try {
    const [{ workload, ...rest }, imported, monitored] = await Promise.all([
      runPatients(stack, caller, post, timeoutMs),
      runImport(caller, post, { folder, deadlineAt }),
      runMonitoring(stack, caller, post, deadlineAt),
    ]);
    caller.counts.answered += workload.calls.length;
    caller.counts.unanswered += workload.calls.reduce(
      (sum, { unanswered }) => sum + unanswered,
      0,
    );
    return {
      number,
      caller,
      workload,
      ...rest,
      imported,
      monitored,
      posts: [...posts, ...workload.calls],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runPatients(
  stack: StackAccess,
  caller: CarefulCaller,
  post: Post,
  timeoutMs: number,
) {
  const workload = await runWorkload(stack, caller.account, { timeoutMs });
  const [patientId = ''] = workload.calls.flatMap(({ path, answer }) =>
    path.startsWith('patient?') ? [answer.body.id as string] : [],
  );
  const [consolidated, messages, steered] = await Promise.all([
    buildConsolidated(caller, post, patientId),
    sendMessages(caller, post, patientId),
    steerQuery(caller, post, patientId),
  ]);
  return {
    workload,
    consolidated: { requestId: consolidated, patientId },
    messages,
    steered,
  };
}

async function buildConsolidated(
  caller: CarefulCaller,
  post: Post,
  patientId: string,
): Promise<string> {
  const path = `patient/${patientId}/consolidated/query`;
  const { requestId } = await post(`${path}?conversionType=html`);
  await caller.getUntil(
    `${path}/${requestId}`,
    ({ status }) => status !== 'processing',
  );
  return requestId;
}

async function sendMessages(
  caller: CarefulCaller,
  post: Post,
  patientId: string,
): Promise<string[]> {
  const send = async (subject: string) => {
    const body = {
      destination: '2.16.840.1.113883.3.9621.7.42',
      subject,
      body: 'Please see the attached.',
    };
    const { id } = await post(`message?patientId=${patientId}`, body);
    await caller.getUntil(
      `message/${id}`,
      ({ status }) => status !== 'processing',
    );
    return id as string;
  };
  return Promise.all(['Referral', 'Result'].map(send));
}

/**
 * The lab is given up, and asked again after the query has ended without it.
 */
async function steerQuery(
  caller: CarefulCaller,
  post: Post,
  patientId: string,
): Promise<string> {
  const sources = { hie: { enabled: true }, lab: { enabled: true } };
  const { requestId } = await post(`network/query?patientId=${patientId}`, {
    sources,
  });
  const path = `network/query/${requestId}`;
  await caller.steer(`${path}/source/lab/cancel`);
  await caller.getUntil(path, hasQueryEnded);
  await caller.steer(`${path}/source/lab/retry`);
  await caller.getUntil(path, hasQueryEnded);
  return requestId;
}

/** Made in the database, as the admin CLI does; the database may be away. */
export async function newAccount(
  stack: StackAccess,
  deadlineAt: number,
): Promise<StackAccount> {
  for (;;) {
    try {
      return await stack.addAccount();
    } catch (error) {
      if (Date.now() > deadlineAt) throw error;
      await sleep(500);
    }
  }
}
