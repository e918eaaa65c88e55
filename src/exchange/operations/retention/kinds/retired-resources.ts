import { sql } from 'kysely';
import type { RetentionKind } from '../retention-kind.ts';
import { countDue, isHeld } from './due-items.ts';

/** The row of a DocumentReference stays, because it says that its stored document was withdrawn. */
const ended = (before: Date) => sql`r.retired_at < ${before} and r.resource_type <> 'DocumentReference'`;

export const retiredResources: RetentionKind = {
  name: 'retired-resources',
  description: 'resources that their source deleted or moved to another person, since they left the record',
  count: (tx, before) =>
    countDue(
      tx,
      sql`select r.retired_at as at, ${isHeld('r.patient_id')} as held from retired_resource r where ${ended(before)}`,
    ),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      delete from retired_resource where (patient_id, source, resource_type, source_id, retired_at) in (
        select r.patient_id, r.source, r.resource_type, r.source_id, r.retired_at from retired_resource r
        where ${ended(before)} and not ${isHeld('r.patient_id')}
        order by r.retired_at limit ${limit} for update skip locked)
      returning account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};
