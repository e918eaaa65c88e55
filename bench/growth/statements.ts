import type pg from 'pg';

/**
 * The statements that have read the most pages since the last reset, for
 * `--statements`.
 */
export async function costliestStatements(admin: pg.Client): Promise<string[]> {
  const { rows } = await admin.query<{ line: string }>(
    `select (shared_blks_hit + shared_blks_read) / calls || ' pages, ' || round(mean_exec_time::numeric, 2) || ' ms, ' ||
       calls || ' calls: ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 240) as line
     from pg_stat_statements where query not like '%pg_stat_statements%'
     order by shared_blks_hit + shared_blks_read desc limit 4`,
  );
  return rows.map(({ line }) => line);
}

export interface StatementCount {
  /**
   * Pages of tables and indexes that were read, in PostgreSQL's memory or not.
   */
  pages: number;
  ms: number;
}

/**
 * Creates a function that returns what all statements, apart from its own, have
 * cost so far.
 */
export async function createStatementCount(
  admin: pg.Client,
): Promise<() => Promise<StatementCount>> {
  await admin.query('select pg_stat_statements_reset()');
  return async () => {
    const { rows } = await admin.query<StatementCount>(
      `select sum(shared_blks_hit + shared_blks_read)::float8 as pages, sum(total_exec_time)::float8 as ms
       from pg_stat_statements where query not like '%pg_stat_statements%'`,
    );
    return rows[0] ?? { pages: 0, ms: 0 };
  };
}
