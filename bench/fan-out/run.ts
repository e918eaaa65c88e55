import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { ADA } from '../../test/support/responding-gateway.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';
import {
  callGateway,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../../test/support/stack.ts';
import { countActions } from '../actions/count-actions.ts';
import { cpuOfTree } from '../cpu.ts';
import { createCaller } from '../interactive/caller.ts';
import { type Percentiles, percentiles } from '../interactive/percentiles.ts';
import { listenForWebhooks } from '../interactive/webhooks.ts';
import { kill } from '../soak/mixed/faults.ts';
import { type BareCosts, measureBareCosts } from './bare-costs.ts';
import {
  expectedAsks,
  expectedState,
  type Kind,
  kindsOf,
} from './behaviours.ts';
import { connect, startNetwork } from './network.ts';
import type { Asked } from './serve.ts';
import { type RoundMemory, residentOf, withMemory } from './worker-memory.ts';

export interface FanOutBenchOptions {
  gateways: number;
  /** Queries at once, of as many patients. */
  queries: number;
  /** The same so many times, one after the other, with further patients. */
  rounds: number;
  /** How often the worker is killed while they run. */
  kills: number;
  /** No gateway knows the patient, and all answer at once. */
  silent?: true;
  /** A caller queries the lab, first alone and then beside the queries. */
  interactive?: true;
}

export interface FanOutBenchResult {
  options: FanOutBenchOptions;
  /** Load of the machine before and after. */
  load: [number, number];
  bare: BareCosts;
  /** From E2 to the end of the query, one for each. */
  seconds: number[];
  /** From E2 to the first data of the query. */
  firstDataSeconds: number[];
  found: number;
  foundExpected: number;
  /** Rows of gateways: one each, by how they ended. */
  ended: Record<string, number>;
  /** Gateways that ended otherwise than they are to. */
  endedOtherwise: number;
  asks: number;
  /** Gateways that were asked more often than they were due, and how often. */
  askedAgain: number;
  /** Of the largest run. */
  events: number;
  actions: number;
  /** CPU of the worker beyond what it takes when idle, in milliseconds. */
  workerMs: number;
  /** Of each gateway that does not know the patient, beyond signature and TLS. */
  beyondMs: number;
  /** Memory of the worker, in MB: resident before, and in each round. */
  memory: { before: number; rounds: RoundMemory[] };
  /** From E2 to the webhook of queries of the lab, alone and beside. */
  interactive?: { alone: Percentiles; beside: Percentiles };
}

/** The one that serves the queue of networks. */
const ASKING_WORKER = 'worker-background';
const END_TIMEOUT_MS = 30 * 60_000;
const IDLE_MS = 20_000;
const INTERACTIVE_MS = 30_000;

/** Queries over the gateways of a simulated network, on a whole stack. */
export async function benchFanOut(
  options: FanOutBenchOptions,
  note: (line: string) => void,
): Promise<FanOutBenchResult> {
  const { gateways, rounds } = options;
  const queries = options.queries * rounds;
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-fan-out-'));
  const kinds: Kind[] =
    options.silent === true
      ? new Array<Kind>(gateways).fill('nobody')
      : kindsOf(gateways);
  const before = loadavg()[0] ?? 0;
  const network = await startNetwork(dataDir, kinds);
  const workerPort = await freePort();
  const stack = await startTestStack({
    dataDir: join(dataDir, 'stack'),
    ports: { workerBackground: workerPort },
  });
  const webhooks = await listenForWebhooks();
  try {
    const bare = await measureBareCosts(network, gateways);
    note(
      `a signed question ${bare.signatureMs.toFixed(1)} ms of CPU, a TLS connection ${bare.tlsMs.toFixed(1)} ms`,
    );
    const account = await stack.addAccount();
    await connect(stack, account, network, kinds);
    const patients = await createPatients(stack, account, queries);
    const ask = async (ids: readonly string[]) => {
      const asking = ids.map((id) => queryToEnd(stack, account, id));
      const all = Promise.all(asking);
      await killWhile(stack, options.kills, all, note);
      return all;
    };
    const worker = {
      pid: () => stack.stack.pids()[ASKING_WORKER],
      port: workerPort,
    };
    const memory = {
      before: Number.NaN,
      rounds: [] as RoundMemory[],
    };
    const work = async () => {
      memory.before = await residentOf(worker.pid());
      const ended: Ended[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const from = round * options.queries;
        const ids = patients.slice(from, from + options.queries);
        const done = await withMemory(worker, () => ask(ids));
        ended.push(...done.result);
        memory.rounds.push(done.memory);
      }
      return ended;
    };
    const { measured, interactive } =
      options.interactive === true
        ? await besideCaller(stack, webhooks, () => measure(stack, work))
        : { measured: await measure(stack, work), interactive: undefined };

    const ended = await readEnds(stack);
    const asked = await network.asked();
    const histories = await readHistories(
      stack,
      measured.result.map(({ requestId }) => requestId),
    );
    const silent = queries * gateways;
    return {
      options,
      load: [before, loadavg()[0] ?? 0],
      bare,
      seconds: measured.result.map(({ seconds }) => seconds),
      firstDataSeconds: measured.result.flatMap(({ firstDataSeconds }) =>
        firstDataSeconds === undefined ? [] : [firstDataSeconds],
      ),
      ...judge(kinds, queries, ended, asked),
      ...histories,
      workerMs: measured.workerMs,
      beyondMs: measured.workerMs / silent - bare.signatureMs - bare.tlsMs,
      memory,
      ...(interactive === undefined ? {} : { interactive }),
    };
  } finally {
    await stack.stop();
    await webhooks.close();
    network.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function createPatients(
  stack: TestStack,
  account: StackAccount,
  count: number,
): Promise<string[]> {
  const ids = [];
  for (let number = 0; number < count; number += 1) {
    const answer = await callGateway(
      stack.connection,
      account,
      'POST',
      `patient?facilityId=${account.facilityId}`,
      { body: person(number), timeoutMs: 60_000 },
    );
    if (answer.status >= 300) throw new Error(`E4: ${answer.status}`);
    ids.push(answer.body.id);
  }
  return ids;
}

const letters = (value: number): string =>
  [...String(value)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

const person = (number: number) => ({
  firstName: ADA.firstName,
  lastName: `${ADA.lastName}${letters(number)}`,
  dob: ADA.dob,
  genderAtBirth: ADA.gender,
  address: [
    {
      addressLine1: `${number} Main Street`,
      city: ADA.city,
      state: ADA.state,
      zip: ADA.zip,
      country: 'USA',
    },
  ],
});

interface Ended {
  requestId: string;
  seconds: number;
  firstDataSeconds: number | undefined;
}

/** Queries the hie, and waits for the end. */
async function queryToEnd(
  stack: TestStack,
  account: StackAccount,
  patientId: string,
): Promise<Ended> {
  const began = Date.now();
  const answer = await callGateway(
    stack.connection,
    account,
    'POST',
    `network/query?patientId=${patientId}`,
    { body: { sources: { hie: { enabled: true } } }, timeoutMs: 60_000 },
  );
  if (answer.status >= 300)
    throw new Error(`E2: ${answer.status} ${JSON.stringify(answer.body)}`);
  const requestId: string = answer.body.requestId;
  for (;;) {
    const [query] = await stack.rows<{ status: string; first: Date | null }>(
      `select status, (select min(occurred_at) from event e where e.request_id = q.id and e.fact_key like '%first-data%') as first
       from network_query q where id = $1`,
      [requestId],
    );
    if (query !== undefined && query.status !== 'running')
      return {
        requestId,
        seconds: (Date.now() - began) / 1_000,
        firstDataSeconds:
          query.first === null
            ? undefined
            : (query.first.getTime() - began) / 1_000,
      };
    if (Date.now() - began > END_TIMEOUT_MS)
      throw new Error(`the query ${requestId} does not end`);
    await sleep(250);
  }
}

/** Kills the worker so many times, within the first half minute of the work. */
async function killWhile(
  { stack }: TestStack,
  kills: number,
  work: Promise<unknown>,
  note: (line: string) => void,
): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  const random = seededRandom(kills);
  for (let killed = 1; killed <= kills && !isOver; killed += 1) {
    await sleep(random.between(3_000, 12_000));
    await kill(stack, ASKING_WORKER);
    note(`the worker is killed, for the ${killed}. time`);
  }
}

/** CPU of the worker while it works. */
async function measure<T>({ stack }: TestStack, work: () => Promise<T>) {
  const cpu = () => cpuOfTree(stack.pids()[ASKING_WORKER] ?? 0);
  await sleep(IDLE_MS);
  const idleFrom = await cpu();
  await sleep(IDLE_MS);
  const idleMsOfMs = ((await cpu()) - idleFrom) / IDLE_MS;

  const from = { cpuMs: await cpu(), at: Date.now() };
  const result = await work();
  const tookMs = Date.now() - from.at;
  const workerMs = (await cpu()) - from.cpuMs - idleMsOfMs * tookMs;
  return { result, workerMs };
}

/** What a caller of the lab waits for, alone and beside the work. */
async function besideCaller<T>(
  stack: TestStack,
  webhooks: Awaited<ReturnType<typeof listenForWebhooks>>,
  work: () => Promise<T>,
) {
  const account = await stack.addAccount();
  await stack.rows(
    'update webhook_destination set url = $1 where account_id = $2',
    [webhooks.url, account.accountId],
  );
  const caller = await createCaller(stack, account, webhooks);
  await caller.during(() => sleep(5_000));
  const alone = await caller.during(() => sleep(INTERACTIVE_MS));
  let measured: T | undefined;
  const beside = await caller.during(async () => {
    measured = await work();
  });
  if (measured === undefined) throw new Error('the work did not end');
  return {
    measured,
    interactive: {
      alone: percentiles(alone.queryMs),
      beside: percentiles(beside.queryMs),
    },
  };
}

interface EndedGateway {
  home_community: string;
  state: string;
  reason: string | null;
}

const readEnds = ({ rows }: TestStack): Promise<EndedGateway[]> =>
  rows<EndedGateway>('select home_community, state, reason from gateway_ask');

function judge(
  kinds: readonly Kind[],
  queries: number,
  ended: readonly EndedGateway[],
  asked: Asked,
) {
  const count = (state: string) =>
    ended.filter((each) => each.state === state).length;
  const numberOf = ({ home_community }: EndedGateway) =>
    Number(home_community.split('.').at(-1));
  const kindOf = (number: number): Kind => kinds[number - 1] ?? 'nobody';
  const otherwise = ended.filter(
    (each) =>
      each.state !== expectedState(kindOf(numberOf(each)), numberOf(each)),
  );
  const again = Object.entries(asked).filter(([key, times]) => {
    const number = Number(key.split('/')[0]);
    return times > expectedAsks(kindOf(number), number);
  });
  return {
    found: count('found'),
    foundExpected:
      queries *
      kinds.filter((kind, index) => expectedState(kind, index + 1) === 'found')
        .length,
    ended: Object.fromEntries(
      ['found', 'nobody', 'failed', 'open', 'waiting'].map((state) => [
        state,
        count(state),
      ]),
    ),
    endedOtherwise:
      otherwise.length + Math.abs(kinds.length * queries - ended.length),
    asks: Object.values(asked).reduce((sum, times) => sum + times, 0),
    askedAgain: again.length,
  };
}

async function readHistories(
  { temporal }: TestStack,
  requestIds: readonly string[],
) {
  const counts = { events: 0, actions: 0 };
  for (const requestId of requestIds) {
    const history = await temporal.workflow
      .getHandle(networkQueryWorkflowId(requestId))
      .fetchHistory();
    const actions = Object.values(countActions(history)).reduce(
      (sum, each) => sum + each,
      0,
    );
    counts.events = Math.max(counts.events, history.events?.length ?? 0);
    counts.actions = Math.max(counts.actions, actions);
  }
  return counts;
}
