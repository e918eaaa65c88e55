import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import {
  callGateway,
  startTestStack,
  type TestStack,
} from '../../test/support/stack.ts';
import { floodApart, observe } from './flood.ts';
import {
  CALLERS_FLOODS,
  contributionOf,
  type FloodName,
  type FloodTarget,
  STRANGERS_FLOODS,
} from './flood-kinds.ts';

const { by, seconds, connections, only } = new Command(
  'npm run overload:neighbours --',
)
  .description(
    'What floods of strangers, or of one account with the default limits, cost another account: its median beside the one just before.',
  )
  .option('--by <strangers|account>', 'who floods', 'strangers')
  .option('--seconds <n>', 'duration of each flood', '10')
  .option('--connections <n>', 'connections of the flood', '100')
  .option('--only <words>', 'only floods whose name contains this', '')
  .parse()
  .opts<Record<'by' | 'seconds' | 'connections' | 'only', string>>();
const print = (line: string) => void process.stdout.write(`${line}\n`);
const QUIET_SECONDS = 4;
/** As an account has in production: the one of an embedded stack has more. */
const DEFAULT_LIMITS = `update account set settings = settings - 'limits' where id = $1`;

const dataDir = await mkdtemp(join(tmpdir(), 'neighbours-'));
const stack = await startTestStack({ dataDir });
try {
  const other = await stack.addAccount();
  const floods = by === 'strangers' ? STRANGERS_FLOODS : CALLERS_FLOODS;
  const names = (Object.keys(floods) as FloodName[]).filter((name) =>
    name.includes(only),
  );
  for (const kind of names) {
    const target =
      by === 'strangers'
        ? { ...(await accountWithRecord(stack)), apiKey: '' }
        : await accountWithRecord(stack);
    const ms = async (forSeconds: number) => {
      const { baseUrl } = stack.connection;
      const signal = AbortSignal.timeout(forSeconds * 1_000);
      const [account, health] = await Promise.all([
        observe(`${baseUrl}/medical/v1/facility`, other.apiKey, signal),
        observe(`${baseUrl}/health`, undefined, signal),
      ]);
      return {
        median: at(account.ms, 0.5),
        p95: at(account.ms, 0.95),
        health: at(health.ms, 0.99),
        failures: account.failures + health.failures,
      };
    };
    const quiet = await ms(QUIET_SECONDS);
    const order = { target, kind, connections: Number(connections) };
    const [counts, busy] = await Promise.all([
      floodApart({ ...order, seconds: Number(seconds) }),
      ms(Number(seconds)),
    ]);
    const { accepted, ...answers } = counts;
    print(
      `${kind}: another account's median ${(busy.median / quiet.median).toFixed(1)} times ` +
        `(${quiet.median.toFixed(1)} to ${busy.median.toFixed(1)} ms; 95 % ${quiet.p95.toFixed(1)} to ${busy.p95.toFixed(1)}), ` +
        `/health 99 % ${busy.health.toFixed(0)} ms, failures ${busy.failures}; ` +
        `answers ${JSON.stringify(answers)}; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
    );
  }
} finally {
  await stack.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** An account of its own, with a patient who has a record of 1,000 resources. */
async function accountWithRecord({
  connection,
  addAccount,
  rows,
}: TestStack): Promise<FloodTarget> {
  const account = await addAccount();
  await rows(DEFAULT_LIMITS, [account.accountId]);
  const call = async (method: 'POST' | 'PUT', path: string, body: object) => {
    const answer = await callGateway(connection, account, method, path, {
      body,
    });
    if (answer.status >= 300)
      throw new Error(`${path} was answered with ${answer.status}`);
    return answer.body;
  };
  const { id } = await call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    {
      firstName: 'Ada',
      lastName: 'Neighbour',
      dob: '1980-04-05',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '1 Main Street',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
        },
      ],
    },
  );
  await call('PUT', `patient/${id}/consolidated`, contributionOf(0));
  return { baseUrl: connection.baseUrl, ...account, patientId: id };
}

/** A quantile of sorted milliseconds. */
function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}
