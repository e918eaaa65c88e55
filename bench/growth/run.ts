import { loadavg } from 'node:os';
import { startGrowthEnvironment } from './environment.ts';
import { growTo, shareAmong } from './mass.ts';
import { operationsOf } from './operations.ts';
import { costliestStatements, createStatementCount } from './statements.ts';
import { readTableSizes, type TableSize } from './table-sizes.ts';

export interface GrowthBenchOptions {
  sizes: number[];
  /**
   * Accounts that the patients are spread over. One of them makes the calls.
   */
  accounts: number;
  calls: number;
  /** Also print the statements that read the most in each call. */
  statements?: boolean;
}

export interface MeasuredOperation {
  name: string;
  patients: number;
  /**
   * Median, with everything that the call does in this process and in
   * PostgreSQL.
   */
  ms: number;
  /** Pages of 8 KB that PostgreSQL read, in its memory or not, per call. */
  pages: number;
  /** Time in PostgreSQL per call. */
  postgresMs: number;
}

export interface GrowthBenchResult {
  options: GrowthBenchOptions;
  measured: MeasuredOperation[];
  /** At the greatest size. */
  tables: TableSize[];
  load: [number, number];
}

const WARM_UP = 10;

/** Measures the same calls with more and more patients in the database. */
export async function benchGrowth(
  options: GrowthBenchOptions,
  print: (line: string) => void,
): Promise<GrowthBenchResult> {
  const environment = await startGrowthEnvironment();
  try {
    const { admin, account, call } = environment;
    const cohort = (await call('POST', 'cohort', {
      name: 'Everybody',
      purposeOfUse: 'treatment',
    })) as {
      id?: string;
      cohort?: { id: string };
    };
    const cohortId = cohort.cohort?.id ?? cohort.id ?? '';
    await shareAmong(admin, { ...account, cohortId }, options.accounts);
    const operations = operationsOf(environment, cohortId);
    const statements = await createStatementCount(admin);
    const result: GrowthBenchResult = {
      options,
      measured: [],
      tables: [],
      load: [loadavg()[0] ?? 0, 0],
    };
    let patients = 0;
    let number = 0;
    for (const size of options.sizes) {
      await growTo(admin, patients, size);
      patients = size;
      print(`${size} patients`);
      for (const { name, run } of operations) {
        const calls = name.startsWith('reconcile') ? 3 : options.calls;
        for (let warm = 0; warm < Math.min(WARM_UP, calls); warm++)
          await run(++number);
        const times: number[] = [];
        await admin.query('select pg_stat_statements_reset()');
        const before = await statements();
        for (let each = 0; each < calls; each++) {
          const began = performance.now();
          await run(++number);
          times.push(performance.now() - began);
        }
        const after = await statements();
        const measured = {
          name,
          patients: size,
          ms:
            times.sort((left, right) => left - right)[Math.floor(calls / 2)] ??
            Number.NaN,
          pages: (after.pages - before.pages) / calls,
          postgresMs: (after.ms - before.ms) / calls,
        };
        result.measured.push(measured);
        print(
          `  ${name}: ${measured.ms.toFixed(1)} ms, ${measured.pages.toFixed(0)} pages, PostgreSQL ${measured.postgresMs.toFixed(2)} ms`,
        );
        if (options.statements === true)
          for (const line of await costliestStatements(admin))
            print(`      ${line}`);
      }
    }
    result.tables = await readTableSizes(admin, patients);
    result.load[1] = loadavg()[0] ?? 0;
    return result;
  } finally {
    await environment.stop();
  }
}
