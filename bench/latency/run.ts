import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import {
  callGateway,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../../test/support/stack.ts';
import { type Percentiles, percentiles } from '../interactive/percentiles.ts';
import { listenForWebhooks, type Webhooks } from '../interactive/webhooks.ts';
import { preparePatients } from '../query/run.ts';
import { startBare } from './bare.ts';
import {
  type PromptSource,
  startPromptSource,
  unionMs,
} from './prompt-source.ts';
import { type Moment, readTimeline } from './timeline.ts';

export interface LatencyBenchOptions {
  rounds: number;
  /** Patients a round: each is queried, and queried again. */
  patients: number;
  sample: string;
}

export interface LatencyRound {
  /** From the answer of E2 to the webhook, less what the source took. */
  first: Percentiles;
  again: Percentiles;
  /** From asking for the start of a bare workflow to its request. */
  bare: Percentiles;
  /** What the source took for a first query. */
  source: Percentiles;
  /** E2 itself. */
  answer: Percentiles;
  load: number;
}

export interface LatencyBenchResult {
  options: LatencyBenchOptions;
  rounds: LatencyRound[];
  /** Of one of the last queries that were the same again. */
  timeline: Moment[];
}

/** Between two calls, so that none waits for what the one before left. */
const PAUSE_MS = 150;
const SOURCES = { lab: { enabled: true } };

interface Query {
  requestId: string;
  /** As `performance.now()` has it. */
  sentAt: number;
  answeredAt: number;
  arrivedAt: number;
  sourceMs: number;
  spans: { from: number; to: number }[];
}

/**
 * What a caller waits for who is alone on a whole stack: queries of the lab, one
 * at a time, of new patients and the same again, in turns with a bare workflow.
 * The lab is another one for the worker, which answers at once.
 */
export async function benchLatency(
  options: LatencyBenchOptions,
  print: (line: string) => void,
): Promise<LatencyBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-latency-'));
  const source = await startPromptSource();
  const webhooks = await listenForWebhooks();
  const stack = await startTestStack({
    dataDir,
    environment: { worker: { LAB_BASE_URL: `${source.url}/lab/fhir` } },
  });
  source.repeat(stack.connection.simulatorUrl);
  const bare = await startBare(stack, webhooks);
  try {
    const account = await stack.addAccount();
    await stack.rows(
      'update webhook_destination set url = $1 where account_id = $2',
      [webhooks.url, account.accountId],
    );
    const store = createStore({
      databaseUrl: stack.connection.databaseUrl,
      poolMax: 1,
    });
    const query = (patientId: string) =>
      oneQuery({ stack, account, webhooks, source }, patientId);

    const round = async (patients: number) => {
      const times = {
        first: [] as Query[],
        again: [] as Query[],
        bare: [] as number[],
      };
      for (const patientId of await preparePatients(
        { exchange: { store }, account },
        options.sample,
        patients,
      )) {
        times.first.push(await query(patientId));
        times.bare.push(await bare.run());
        await sleep(PAUSE_MS);
        times.again.push(await query(patientId));
      }
      return times;
    };

    await round(10);
    const result: LatencyBenchResult = { options, rounds: [], timeline: [] };
    for (let number = 1; number <= options.rounds; number++) {
      const { first, again, bare } = await round(options.patients);
      const measured: LatencyRound = {
        first: percentiles(first.map(beyondSource)),
        again: percentiles(again.map(beyondSource)),
        bare: percentiles(bare),
        source: percentiles(first.map(({ sourceMs }) => sourceMs)),
        answer: percentiles(
          [...first, ...again].map(
            ({ sentAt, answeredAt }) => answeredAt - sentAt,
          ),
        ),
        load: loadavg()[0] ?? 0,
      };
      result.rounds.push(measured);
      print(`round ${number}: ${described(measured)}`);
      const typical = middleOf(again, beyondSource);
      if (typical !== undefined)
        result.timeline = await readTimeline(stack, typical);
    }
    await store.close();
    return result;
  } finally {
    await bare.stop();
    await stack.stop();
    await Promise.all([webhooks.close(), source.close()]);
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function oneQuery(
  {
    stack,
    account,
    webhooks,
    source,
  }: {
    stack: TestStack;
    account: StackAccount;
    webhooks: Webhooks;
    source: PromptSource;
  },
  patientId: string,
): Promise<Query> {
  source.takeSpans();
  const sentAt = performance.now();
  const answer = await callGateway(
    stack.connection,
    account,
    'POST',
    `network/query?patientId=${patientId}`,
    { body: { sources: SOURCES } },
  );
  const answeredAt = performance.now();
  if (answer.status >= 300) throw new Error(`E2: ${answer.status}`);
  const { requestId } = answer.body;
  const arrivedAt = await webhooks.arrivalOf(requestId);
  await sleep(PAUSE_MS);
  const spans = source.takeSpans();
  return {
    requestId,
    sentAt,
    answeredAt,
    arrivedAt,
    spans,
    sourceMs: unionMs(spans),
  };
}

const beyondSource = ({ answeredAt, arrivedAt, sourceMs }: Query): number =>
  arrivedAt - answeredAt - sourceMs;

function middleOf<T>(
  items: readonly T[],
  by: (item: T) => number,
): T | undefined {
  const sorted = items.toSorted((one, other) => by(one) - by(other));
  return sorted[Math.floor(sorted.length / 2)];
}

const described = (round: LatencyRound): string =>
  [
    `first ${inMs(round.first)}`,
    `again ${inMs(round.again)}`,
    `bare workflow ${inMs(round.bare)}`,
    `source ${inMs(round.source)}`,
    `E2 itself ${inMs(round.answer)}`,
    `load ${round.load.toFixed(1)}`,
  ].join('; ');

const inMs = ({ p50Ms, p95Ms }: Percentiles): string =>
  `${p50Ms.toFixed(0)}, ${p95Ms.toFixed(0)} ms`;
