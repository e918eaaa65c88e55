import {
  CONSOLIDATED_DATA_EVENT_TYPE,
  type ConsolidatedDataEvent,
} from '../../../contract/consolidated-query.ts';
import {
  CONSOLIDATED_END_REASONS,
  type ConsolidatedQueryInput,
} from '../../../contract/consolidated-query-workflow.ts';
import {
  consolidatedQueryWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  deleting,
  itemRecovery,
  type Recovery,
} from '../../platform/recovery/recovery.ts';
import {
  createWorkLauncher,
  type WorkLauncher,
} from '../../platform/workflows/launcher.ts';
import {
  consolidatedRows,
  endConsolidatedQuery,
  markResultDeleted,
  resultsToDelete,
  type StoredConsolidatedQuery,
} from './query-store.ts';

/**
 * Ends a query and writes its webhook event in the same transaction. Resolves
 * to undefined if it had already ended.
 *
 * @param how.reason shown to the caller: no personal data, no internals
 */
export async function endAndAnnounce(
  tx: AccountTx,
  requestId: string,
  how: { result: BlobRef } | { reason: string },
): Promise<StoredConsolidatedQuery | undefined> {
  const query = await endConsolidatedQuery(tx, requestId, how);
  if (query === undefined) return undefined;
  const { patientId, endedAt = new Date(), metadata } = query;
  const patient = await findPatient(tx, patientId);
  const type = CONSOLIDATED_DATA_EVENT_TYPE;
  const announced: ConsolidatedDataEvent['patients'][number] = {
    patientId,
    externalId: patient?.externalId ?? undefined,
    ...(Object.keys(patient?.additionalIdentifiers ?? {}).length === 0
      ? {}
      : { additionalIds: patient?.additionalIdentifiers }),
    status: 'result' in how ? 'completed' : 'failed',
    ...('result' in how
      ? { bundle: bundleOf(query, how.result, endedAt) }
      : {}),
    filters: filtersOf(query),
  };
  await insertEvent(tx, {
    type,
    factKey: `${type}/${requestId}`,
    patientId,
    requestId,
    occurredAt: endedAt,
    body: {
      meta: {
        requestId,
        when: endedAt.toISOString(),
        type,
        ...(metadata && { data: metadata }),
      },
      patients: [announced],
    },
  });
  return query;
}

/**
 * The Bundle of the event. The attachment's url is added when the webhook is
 * sent (decision 3).
 */
function bundleOf(
  { requestId, patientId }: StoredConsolidatedQuery,
  result: BlobRef,
  at: Date,
) {
  return {
    resourceType: 'Bundle' as const,
    type: 'collection',
    entry: [
      {
        fullUrl: `urn:uuid:${requestId}`,
        resource: {
          resourceType: 'DocumentReference',
          id: requestId,
          status: 'current',
          subject: { reference: `Patient/${patientId}` },
          date: at.toISOString(),
          description: 'Consolidated medical record',
          content: [
            {
              attachment: {
                contentType: result.contentType,
                size: result.sizeBytes,
                title: 'Consolidated medical record',
                creation: at.toISOString(),
              },
            },
          ],
        },
      },
    ],
  };
}

function filtersOf({
  conversionType,
  resources,
  dateFrom,
  dateTo,
}: StoredConsolidatedQuery): Record<string, string> {
  return {
    conversionType,
    ...(resources && { resources: resources.join(',') }),
    ...(dateFrom && { dateFrom }),
    ...(dateTo && { dateTo }),
  };
}

/** Starts the workflows of consolidated queries. */
export type ConsolidatedLauncher = Pick<WorkLauncher, 'launch' | 'drain'> & {
  recoveries: Recovery[];
};

/**
 * Longer than webhook delivery attempts and the validity of their links
 * together.
 */
const RESULT_RETENTION_DAYS = 7;

export function createConsolidatedLauncher(
  deps: Pick<Platform, 'store' | 'blobs' | 'temporal' | 'logger'>,
): ConsolidatedLauncher {
  const { store } = deps;
  const { launch, recovery, drain } = createWorkLauncher(deps, {
    name: 'consolidated queries',
    id: 'requestId',
    rows: consolidatedRows,
    notStarted: 'consolidated query not started yet; reconcile will',
    type: WORKFLOW_TYPES.consolidatedQuery,
    workflowId: consolidatedQueryWorkflowId,
    input: (accountId, requestId): ConsolidatedQueryInput => ({
      accountId,
      requestId,
    }),
    priority: PRIORITY.interactive,
    summary: 'Consolidated query',
    end: (tx, requestId) =>
      endAndAnnounce(tx, requestId, {
        reason: CONSOLIDATED_END_REASONS.workflowGone,
      }),
  });

  return {
    launch,
    recoveries: [
      recovery,
      deleting(
        itemRecovery({
          name: 'consolidated results past their retention',
          find: (limit) =>
            store.asSystem((tx) =>
              resultsToDelete(tx, {
                endedBeforeDays: RESULT_RETENTION_DAYS,
                limit,
              }),
            ),
          async heal({ accountId, requestId, ref }) {
            await deps.blobs.delete(ref);
            await store.asAccount(accountId, (tx) =>
              markResultDeleted(tx, requestId),
            );
            return true;
          },
        }),
      ),
    ],
    drain,
  };
}
