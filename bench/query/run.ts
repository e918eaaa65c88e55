import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { v7 as uuidv7 } from 'uuid';
import type { SourceStep } from '../../src/contract/network-query-workflow.ts';
import { patientDemographicsSchema } from '../../src/contract/patients.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { normaliseDemographics } from '../../src/exchange/people/patients/rules/patient-normalisation.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { readCpuSeconds } from '../bulk/cpu-times.ts';
import type { bareQuery } from './bare-workflow.ts';
import { type Environment, startEnvironment } from './environment.ts';
import { startJobQueue } from './job-queue.ts';
import { startProfile } from './profile.ts';
import {
  bytesBetween,
  putToRest,
  type RecordBytes,
  recordBytes,
} from './record-bytes.ts';
import {
  countStatements,
  type Recording,
  record,
  recordStatements,
} from './recording.ts';

export interface QueryBenchOptions {
  /** Queries of each variant per round. */
  queries: number;
  rounds: number;
  inFlight: number;
  sample: string;
  /**
   * Folder for CPU profiles of our last round, its first queries and the same
   * again: the main thread of client and worker.
   */
  profile?: string;
  /** Whether to run our steps as jobs of pg-boss too. */
  jobQueue?: boolean;
}

export interface Measured {
  queriesPerSecond: number;
  /**
   * User and system CPU time per query, of the process with client and worker.
   */
  cpuSecondsPerQuery: number;
  /** The same of PostgreSQL with all its processes. */
  postgresCpuSecondsPerQuery: number;
  /** SQL statements per query, with BEGIN and COMMIT. */
  statementsPerQuery: number;
}

export interface QueryBenchResult {
  options: QueryBenchOptions;
  ours: Measured[];
  /**
   * A second query of each of our patients, in which nothing has changed at the
   * sources.
   */
  again: Measured[];
  bare: Measured[];
  /** Our steps as jobs of pg-boss; empty without `jobQueue`. */
  jobQueue: Measured[];
  /** Number of history events of one query and of one bare workflow. */
  events: { ours: number; bare: number };
  resources: number;
  /** What the records of our first queries take, by round. */
  bytes: RecordBytes[];
  /** The same of further queries, once their records are at rest. */
  bytesAtRest: RecordBytes;
}

/**
 * Measures our query against a bare workflow with the same source calls and
 * SQL, alternating on one server.
 */
export async function benchQueries(
  options: QueryBenchOptions,
  note: (line: string) => void,
): Promise<QueryBenchResult> {
  recordStatements();
  const env = await startEnvironment();
  try {
    // Twice: the first query fetches what is cached later (capabilities).
    await recordSample(env, options.sample);
    const resources = await recordSample(env, options.sample);
    await ours(
      env,
      await preparePatients(env, options.sample, 20),
      options.inFlight,
    );
    await bare(env, options.sample, 20, options.inFlight);
    const result: QueryBenchResult = {
      options,
      ours: [],
      again: [],
      bare: [],
      jobQueue: [],
      events: { ours: 0, bare: 0 },
      resources,
      bytes: [],
      bytesAtRest: { source: 0, blobs: 0, tables: 0 },
    };
    for (let round = 1; round <= options.rounds; round++) {
      const isProfiled =
        options.profile !== undefined && round === options.rounds;
      const profiler = isProfiled ? await startProfile() : undefined;
      const patients = await preparePatients(
        env,
        options.sample,
        options.queries,
      );
      const bytesBefore = await recordBytes(env);
      const one = await ours(env, patients, options.inFlight);
      result.bytes.push(bytesBetween(bytesBefore, await recordBytes(env)));
      await profiler?.write(join(options.profile ?? '', 'query.cpuprofile'));
      const other = await bare(
        env,
        options.sample,
        options.queries,
        options.inFlight,
      );
      const profilerAgain = isProfiled ? await startProfile() : undefined;
      const again = await ours(env, patients, options.inFlight);
      await profilerAgain?.write(
        join(options.profile ?? '', 'query-again.cpuprofile'),
      );
      result.ours.push(one.measured);
      result.again.push(again.measured);
      result.bare.push(other.measured);
      result.events = { ours: one.events, bare: other.events };
      note(
        `round ${round}: ours ${describe(one.measured)}; the same again ${describe(again.measured)}; bare ${describe(other.measured)}`,
      );
      if (options.jobQueue !== true) continue;
      const queued = await asJobs(
        env,
        options.sample,
        options.queries,
        options.inFlight,
      );
      result.jobQueue.push(queued);
      note(`round ${round}: pg-boss ${describe(queued)}`);
    }
    result.bytesAtRest = await bytesAtRest(env, options);
    return result;
  } finally {
    await env.stop();
  }
}

async function bytesAtRest(
  env: Environment,
  { sample, queries, inFlight }: QueryBenchOptions,
): Promise<RecordBytes> {
  const patients = await preparePatients(env, sample, queries);
  await putToRest(env);
  const before = await recordBytes(env);
  await ours(env, patients, inFlight);
  await putToRest(env);
  return bytesBetween(before, await recordBytes(env));
}

const describe = (measured: Measured): string => {
  const [own, postgres] = [
    measured.cpuSecondsPerQuery,
    measured.postgresCpuSecondsPerQuery,
  ].map((seconds) => (seconds * 1000).toFixed(0));
  const { queriesPerSecond, statementsPerQuery } = measured;
  return `${queriesPerSecond.toFixed(1)} queries/s, ${own} ms CPU, PostgreSQL ${postgres} ms CPU, ${Math.round(statementsPerQuery)} statements`;
};

/**
 * Creates patients without matching keys, so that one sample can be used for
 * all of them.
 */
export async function preparePatients(
  {
    exchange: { store },
    account: { accountId, facilityId },
  }: {
    exchange: { store: Pick<Store, 'asAccount'> };
    account: Pick<Environment['account'], 'accountId' | 'facilityId'>;
  },
  key: string,
  count: number,
): Promise<string[]> {
  const sample = loadSamplePatients().find((patient) => patient.key === key);
  if (sample === undefined)
    throw new Error(`There is no sample patient ${key}`);
  const content = newContent(
    normaliseDemographics(patientDemographicsSchema.parse(sample.createBody)),
    {},
    [facilityId],
  );
  return store.asAccount(accountId, async (tx) => {
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const id = uuidv7();
      await insertPatient(tx, id, content, []);
      ids.push(id);
    }
    return ids;
  });
}

async function prepareQuery(env: Environment, patientId: string) {
  const { networkQueries, store } = env.exchange;
  const sources = SOURCE_TYPES.map((source) => ({ source, realtime: false }));
  const enabled = { enabled: true };
  return store.asAccount(env.account.accountId, (tx) =>
    networkQueries.prepareQuery(tx, {
      account: {
        settings: {
          sources: { hie: enabled, pharmacy: enabled, lab: enabled },
          limits: { networkQueriesPerMinute: 1_000_000 },
        },
      },
      patient: { id: patientId, hieOptOut: false },
      request: { sources },
      purposeOfUse: 'treatment',
      origin: 'interactive',
    }),
  );
}

/**
 * Runs the three source steps of one query outside Temporal and records their
 * calls and SQL.
 */
export async function recordSample(
  env: Environment,
  sample: string,
): Promise<number> {
  const [patientId] = await preparePatients(env, sample, 1);
  if (patientId === undefined) throw new Error('No patient was created');
  const { requestId } = await prepareQuery(env, patientId);
  const bySource = {} as Record<SourceType, Recording>;
  let resources = 0;
  for (const source of SOURCE_TYPES) {
    const step = {
      accountId: env.account.accountId,
      requestId,
      run: 0,
      source,
      attempt: 1,
    };
    bySource[source] = await record(async () => {
      const end: SourceStep = await new MockActivityEnvironment().run(
        env.sourceActivities.askSource,
        step,
      );
      if (end.state !== 'completed')
        throw new Error(`${source} did not answer at once`);
      resources += end.resources;
    });
  }
  env.recordings.set(sample, { requestId, patientId, bySource });
  return resources;
}

export async function ours(
  env: Environment,
  patients: readonly string[],
  inFlight: number,
) {
  let last = '';
  const work = async (patientId: string) => {
    const { requestId } = await prepareQuery(env, patientId);
    const ended = env.ends.of(requestId);
    await env.exchange.networkQueries.launcher.start(
      env.account.accountId,
      requestId,
      0,
    );
    await ended;
    last = networkQueryWorkflowId(requestId);
  };
  const measured = await measure(env, patients, inFlight, work, () =>
    closed(env.temporal),
  );
  return {
    measured,
    events: await countEvents(env.temporal.workflow.getHandle(last)),
  };
}

async function bare(
  env: Environment,
  sample: string,
  count: number,
  inFlight: number,
) {
  const patients = await preparePatients(env, sample, count);
  const { client, queue } = env.bare;
  let last = '';
  const work = async (patientId: string) => {
    const { requestId } = await prepareQuery(env, patientId);
    last = `bare/${requestId}`;
    const ended = env.ends.of(requestId);
    await client.workflow.start<typeof bareQuery>('bareQuery', {
      workflowId: last,
      taskQueue: queue,
      args: [{ requestId, patientId, sample }],
    });
    await ended;
  };
  const measured = await measure(env, patients, inFlight, work, () =>
    closed(client),
  );
  return {
    measured,
    events: await countEvents(client.workflow.getHandle(last)),
  };
}

async function asJobs(
  env: Environment,
  sample: string,
  count: number,
  inFlight: number,
): Promise<Measured> {
  const patients = await preparePatients(env, sample, count);
  const queue = await startJobQueue(env, inFlight);
  try {
    return await measure(env, patients, inFlight, async (patientId) => {
      const { requestId } = await prepareQuery(env, patientId);
      await queue.run(requestId);
    });
  } finally {
    await queue.stop();
  }
}

async function countEvents(handle: {
  fetchHistory(): Promise<{ events?: unknown[] | null }>;
}): Promise<number> {
  return (await handle.fetchHistory()).events?.length ?? 0;
}

/** Seldom: each look takes CPU of the process that is measured. */
const POLL_MS = 250;

/** Waits for the last tasks of the workflows, which count too. */
async function closed(client: Client): Promise<void> {
  while ((await client.workflow.count("ExecutionStatus = 'Running'")).count > 0)
    await sleep(POLL_MS);
}

/**
 * Keeps `inFlight` calls of the work running until all are done, and then waits
 * for what they leave behind.
 */
async function measure<T>(
  { postgresPid }: Environment,
  items: readonly T[],
  inFlight: number,
  work: (item: T) => Promise<void>,
  rest: () => Promise<void> = () => Promise.resolve(),
): Promise<Measured> {
  const queue = [...items];
  const cpuBefore = process.cpuUsage();
  const postgresBefore = readCpuSeconds({ postgres: postgresPid }).postgres;
  const statementsBefore = countStatements();
  const begunAt = performance.now();
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift())
      await work(item);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  await rest();
  const seconds = (performance.now() - begunAt) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    queriesPerSecond: items.length / seconds,
    cpuSecondsPerQuery: (user + system) / 1_000_000 / items.length,
    postgresCpuSecondsPerQuery:
      (readCpuSeconds({ postgres: postgresPid }).postgres - postgresBefore) /
      items.length,
    statementsPerQuery: (countStatements() - statementsBefore) / items.length,
  };
}
