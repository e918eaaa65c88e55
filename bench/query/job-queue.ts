import { MockActivityEnvironment } from '@temporalio/testing';
import PgBoss from 'pg-boss';
import type { SourceStep } from '../../src/contract/network-query-workflow.ts';
import { SOURCE_TYPES } from '../../src/contract/primitives.ts';
import type { Environment } from './environment.ts';

/**
 * Queries without Temporal: one job each of pg-boss, a job queue in PostgreSQL.
 */
export interface JobQueue {
  /** Resolves when the job of this query has ended. */
  run(requestId: string): Promise<void>;
  stop(): Promise<void>;
}

const QUEUE = 'queries';
/** The shortest that pg-boss allows. */
const POLLING_SECONDS = 0.5;

interface QueryJob {
  requestId: string;
}

/**
 * Starts workers of pg-boss in this process. A job runs the three steps of our
 * workflow side by side, each of which may run again, as it may under Temporal.
 * It has none of what the workflow adds: waits, signals, steering, a history.
 */
export async function startJobQueue(
  { account, sourceActivities, databaseUrl }: Environment,
  workers: number,
): Promise<JobQueue> {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    max: 10,
    supervise: false,
    schedule: false,
  });
  const ended = new Map<
    string,
    { resolve: () => void; reject: (error: unknown) => void }
  >();
  boss.on('error', (error) => {
    for (const { reject } of ended.values()) reject(error);
  });
  await boss.start();
  await boss.createQueue(QUEUE);

  const runSources = (requestId: string) =>
    Promise.all(
      SOURCE_TYPES.map(async (source) => {
        const step = {
          accountId: account.accountId,
          requestId,
          run: 0,
          source,
          attempt: 1,
        };
        const end: SourceStep = await new MockActivityEnvironment().run(
          sourceActivities.askSource,
          step,
        );
        if (end.state !== 'completed')
          throw new Error(`${source} did not answer at once`);
      }),
    );
  const handle = async ([job]: PgBoss.Job<QueryJob>[]) => {
    if (job === undefined) return;
    const { requestId } = job.data;
    try {
      await runSources(requestId);
      ended.get(requestId)?.resolve();
    } catch (error) {
      ended.get(requestId)?.reject(error);
      throw error;
    }
  };
  for (let index = 0; index < workers; index++)
    await boss.work<QueryJob>(
      QUEUE,
      { batchSize: 1, pollingIntervalSeconds: POLLING_SECONDS },
      handle,
    );

  return {
    async run(requestId) {
      const end = new Promise<void>((resolve, reject) =>
        ended.set(requestId, { resolve, reject }),
      );
      await boss.send(QUEUE, { requestId });
      await end;
      ended.delete(requestId);
    },
    stop: () => boss.stop(),
  };
}
