import type { ConsolidatedQuery } from '../../../contract/consolidated-query.ts';
import type { StoredConsolidatedQuery } from './query-store.ts';

/** docs/interface.md, "E13. Get consolidated data query status". */
export function serializeConsolidatedQuery(query: StoredConsolidatedQuery): ConsolidatedQuery {
  const { requestId, status, conversionType, resources, dateFrom, dateTo, reason, createdAt } = query;
  return {
    requestId,
    status,
    conversionType,
    startedAt: `${createdAt.toISOString().slice(0, 19)}Z`,
    resources,
    dateFrom,
    dateTo,
    message: reason,
  };
}
