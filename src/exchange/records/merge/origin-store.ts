import { sql } from 'kysely';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { STATED_ON_PATH } from '../rules/stated-on.ts';

export interface StoredOrigin {
  resourceType: string;
  source: RecordSource;
  sourceId: string;
  fileName: string;
  isConverted: boolean;
  collectedAt: Date;
  versionId: string | null;
  lastUpdated: string | null;
  leads: boolean;
  superseded: boolean;
  statedOn: string | null;
  keys: string[];
  /** A caller split it from the others it was united with. */
  split: boolean;
}

/** The deliveries behind a consolidated resource, the leading one first. */
export async function readResourceOrigins(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
): Promise<StoredOrigin[]> {
  const { rows } = await sql<StoredOrigin>`
    select o.resource_type as "resourceType", o.source, o.source_id as "sourceId", d.file_name as "fileName",
      p.converted_from is not null as "isConverted", p.collected_at as "collectedAt",
      p.content #>> '{meta,versionId}' as "versionId", p.content #>> '{meta,lastUpdated}' as "lastUpdated",
      jsonb_path_query_first(p.content, ${STATED_ON_PATH}::jsonpath) #>> '{}' as "statedOn",
      o.leads, o.superseded, o.keys, exists (select from record_split s where s.patient_id = o.patient_id and s.source = o.source
        and s.resource_type = o.resource_type and s.source_id = o.source_id) as split
    from record_origin o
    join patient_resource p using (patient_id, source, resource_type, source_id)
    join document d on d.id = p.document_id
    where o.patient_id = ${patientId} and o.resource_id = ${resourceId}
    order by o.superseded, o.rank desc`.execute(tx.db);
  return rows;
}
