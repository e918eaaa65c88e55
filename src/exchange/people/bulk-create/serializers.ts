import type { BulkCreateStatusResponse, BulkPatientCreate } from '../../../contract/bulk-create.ts';
import type { QuerySweepProgress } from '../../../contract/bulk-create-workflow.ts';
import type { BulkRequestView } from './request-store.ts';
import { bulkPace } from './rules/bulk-pace.ts';

/** A bulk create as E5 returns it. */
export const serializeStartedBulkCreate = (
  request: BulkRequestView,
  uploadUrl: string,
): BulkPatientCreate => ({
  ...commonOf(request),
  status: 'waiting',
  uploadUrl,
});

/**
 * A bulk create as the operations around E5 return it.
 *
 * @param result link to the result CSV of a completed request
 * @param sweep progress of the post-import queries, once they have begun
 */
export function serializeBulkCreate(
  request: BulkRequestView,
  result?: string,
  sweep?: QuerySweepProgress,
): BulkCreateStatusResponse {
  const { status, paused, counts, reason } = request;
  return {
    ...commonOf(request),
    status,
    ...(paused ? { paused } : {}),
    counts,
    ...bulkPace(request),
    ...(result === undefined ? {} : { result }),
    ...(reason === undefined ? {} : { reason }),
    ...(sweep === undefined ? {} : { sweep }),
  };
}

const commonOf = ({ requestId, facilityId, dryRun, createdAt }: BulkRequestView) => ({
  requestId,
  facilityId,
  params: { dryRun },
  createdAt: createdAt.toISOString(),
});
