import { sql } from 'kysely';
import type { AccountTx } from './database.ts';

export interface ResourcePlace {
  source: string;
  resourceType: string;
  sourceId: string;
}

export interface StoredResource extends ResourcePlace {
  content: Record<string, unknown>;
}

/** Up to `count` of a patient's stored resources after `after`, in a fixed order. */
export async function readResourcePage(
  tx: AccountTx,
  patientId: string,
  after: ResourcePlace | undefined,
  count: number,
): Promise<StoredResource[]> {
  let query = tx.db
    .selectFrom('patient_resource')
    .select(['source', 'resource_type as resourceType', 'source_id as sourceId', 'content'])
    .where('patient_id', '=', patientId)
    .orderBy('source')
    .orderBy('resource_type')
    .orderBy('source_id')
    .limit(count);
  if (after !== undefined) {
    const { source, resourceType, sourceId } = after;
    query = query.where(
      sql<boolean>`(source, resource_type, source_id) > (${source}, ${resourceType}, ${sourceId})`,
    );
  }
  return query.execute();
}
