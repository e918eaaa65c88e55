import { sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';
import { generatedProvenanceId } from '../rules/provenance.ts';
import type { ResourceChange, ResourceChanges } from '../rules/resource-changes.ts';

/** Records when resources of a patient's record changed or went. The caller holds the record's lock. */
export async function writeResourceChanges(
  tx: AccountTx,
  patientId: string,
  { changed, gone, unchanged }: ResourceChanges,
): Promise<void> {
  const rows = (resources: readonly ResourceChange[], isGone = false) =>
    resources.map(({ resourceType, resourceId }) => ({
      resourceType,
      resourceId,
      provenanceId: generatedProvenanceId(patientId, resourceId),
      isGone,
    }));
  const written = [...rows(changed), ...rows(gone, true)];
  // clock_timestamp, because now() may be older than another merge that this transaction had to wait for.
  const insert = (values: ReturnType<typeof rows>) => sql`
    insert into record_resource (account_id, patient_id, resource_type, resource_id, provenance_id, changed_at, gone_at)
    select ${tx.accountId}, ${patientId}, n."resourceType", n."resourceId", n."provenanceId", clock_timestamp(),
      case when n."isGone" then clock_timestamp() end
    from json_to_recordset(${JSON.stringify(values)}::json)
      as n("resourceType" text, "resourceId" uuid, "provenanceId" uuid, "isGone" boolean)`;
  if (written.length > 0)
    await sql`${insert(written)}
      on conflict (patient_id, resource_id) do update
      set changed_at = excluded.changed_at, gone_at = excluded.gone_at`.execute(tx.db);
  // Records that an older version merged have no such rows.
  if (unchanged.length > 0)
    await sql`${insert(rows(unchanged))} on conflict (patient_id, resource_id) do nothing`.execute(tx.db);
}
