import type { Json } from '#record-summary/fhir';
import type { NetworkQueryStatus } from '../../../../contract/network-query.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import {
  listQueries,
  QUERY_ORDER,
  serializeQueryStatus,
} from '../../../queries/network-query/query-store.ts';
import {
  incompleteness,
  type RecordCompleteness,
  type SourceCompleteness,
} from '../../../records/reading/completeness.ts';

/** A patient's newest network queries that views show. */
const QUERIES_MAX = 1_000;

/** What a RecordCompleteness says, besides whose it is. */
export interface CompletenessContent {
  isComplete: boolean;
  sentence?: string;
  withheld: number;
  source: readonly SourceCompleteness[];
}

/** What a QueryOutcome says, besides whose it is. */
export interface QueryOutcomeContent
  extends Pick<NetworkQueryStatus, 'status' | 'startedAt'> {
  source: NetworkQueryStatus['sources'];
}

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
  const content: CompletenessContent = {
    isComplete: sentence === undefined,
    sentence,
    withheld,
    source,
  };
  return resourceOf('RecordCompleteness', patientId, patientId, content);
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
    const content: QueryOutcomeContent = { status, startedAt, source };
    return resourceOf('QueryOutcome', requestId, patientId, content);
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
