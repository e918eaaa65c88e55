import type { AccountTx } from '../../../platform/database/database.ts';
import {
  listQueries,
  QUERY_ORDER,
  serializeQueryStatus,
} from '../../../queries/network-query/query-store.ts';
import {
  incompleteness,
  type RecordCompleteness,
} from '../../../records/reading/completeness.ts';
import type { Json } from '../../../records/rules/json.ts';

/** A patient's newest network queries that views show. */
const QUERIES_MAX = 1_000;

/**
 * The completeness of a record as a resource of our own; `sentence` says why it
 * is incomplete.
 */
export function completenessResource(
  patientId: string,
  standing: RecordCompleteness,
): Json {
  const { sources: source, withheld = 0 } = standing;
  const sentence = incompleteness(standing);
  return resourceOf('RecordCompleteness', patientId, patientId, {
    isComplete: sentence === undefined,
    sentence,
    withheld,
    source,
  });
}

/**
 * The network queries of a patient as resources of our own: what each attempt
 * at a source came to.
 */
export async function queryResources(
  tx: AccountTx,
  patientId: string,
): Promise<Json[]> {
  const page = { sort: [...QUERY_ORDER.default], count: QUERIES_MAX };
  const { items } = await listQueries(tx, { patientId }, page);
  return items.map((query) => {
    const {
      requestId,
      sources: source,
      status,
      startedAt,
    } = serializeQueryStatus(query, 'interface');
    return resourceOf('QueryOutcome', requestId, patientId, {
      status,
      startedAt,
      source,
    });
  });
}

/** With times as texts, and nothing undefined. */
const resourceOf = (
  resourceType: string,
  id: string,
  patientId: string,
  content: object,
): Json =>
  JSON.parse(
    JSON.stringify({
      resourceType,
      id,
      subject: { reference: `Patient/${patientId}` },
      ...content,
    }),
  );
