import { type RawBuilder, sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';
import type { Database } from '../database/schema.ts';

/** A row whose workflow should be started, or checked. */
export type RowToEnsure<Ids> = Ids & {
  accountId: string;
  since: Date;
  isStarted: boolean;
};

/** The rows of a table that have a workflow each. */
export interface WorkflowRows<Ids> {
  /**
   * Open rows of all accounts whose workflow was not started within
   * `olderThanMs`, oldest first; then those whose workflow was last seen before
   * `recheckBefore` and should be checked, longest unseen first.
   */
  toEnsure(
    tx: SystemTx,
    options: { olderThanMs: number; recheckBefore: Date; limit: number },
  ): Promise<RowToEnsure<Ids>[]>;
  /** Records that the workflow of a row exists now. */
  markSeen(tx: AccountTx, ids: Ids): Promise<void>;
  /** Whether a row exists, and is open. */
  isOpen(tx: AccountTx, ids: Ids): Promise<boolean>;
}

export function workflowRows<Ids extends object>(of: {
  table: keyof Database;
  /** The columns that identify a row, by the name of the id. */
  ids: { [Id in keyof Ids]: string };
  /**
   * Column with the time from which the row has been waiting for its workflow.
   */
  since: string;
  /** Column with the time when the workflow was last seen. */
  seen?: string;
  /** Condition of the rows that still need a workflow. */
  open: RawBuilder<unknown>;
}): WorkflowRows<Ids> {
  const table = sql.table(of.table);
  const since = sql.ref(of.since);
  const seen = sql.ref(of.seen ?? 'workflow_started_at');
  const idNames = Object.keys(of.ids) as (keyof Ids & string)[];
  const idColumns = sql.join(
    idNames.map((name) => sql`${sql.ref(of.ids[name])} as ${sql.id(name)}`),
  );
  const isRow = (ids: Ids) =>
    sql.join(
      idNames.map((name) => sql`${sql.ref(of.ids[name])} = ${ids[name]}`),
      sql` and `,
    );

  return {
    async toEnsure(tx, { olderThanMs, recheckBefore, limit }) {
      const { rows } = await sql<RowToEnsure<Ids>>`
        select account_id as "accountId", ${idColumns}, ${since} as since, ${seen} is not null as "isStarted"
        from ${table}
        where ${of.open} and (
          (${seen} is null and ${since} < now() - ${olderThanMs} * interval '1 millisecond') or ${seen} < ${recheckBefore})
        order by ${seen} nulls first, ${since} limit ${limit}`.execute(tx.db);
      return rows;
    },
    async markSeen(tx, ids) {
      await sql`update ${table} set ${seen} = now() where ${isRow(ids)}`.execute(
        tx.db,
      );
    },
    async isOpen(tx, ids) {
      const { rows } =
        await sql`select from ${table} where ${isRow(ids)} and ${of.open}`.execute(
          tx.db,
        );
      return rows.length > 0;
    },
  };
}
